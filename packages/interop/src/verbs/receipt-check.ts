import { readFileSync } from 'node:fs'
import { type CheckedReceipt, checkReceipt } from '@retake/tape'
import { nodePlatform } from '@retake/tape/node'
import { receiptLines } from '@retake/tape/present'
import { writeReceiptPage } from '../receipts/receipt-page.js'
import { FOUND } from '@retake/runner/command-line'
import { DIR_OPTION, usageError, type Verb } from '@retake/runner/command-line'
import { cliErrors } from '@retake/runner/errors'
import { findKey, knownKeys, keyOwner } from '../receipts/known-keys.js'
import { printable } from '@retake/runner/terminal'

export default {
  arguments: '[file]',
  description: `Checks a receipt of \`retake receipt make\`, offline and without the tape: that each
event is on the sealed tape, unchanged and at its position, and who signed the seal and the
receipt. Exit code 3 if it is not valid. The labels of steps and the choice of events are not
proven; they are the issuer's word.`,
  options: {
    '--key <key>':
      'the key that must have signed the seal: a name of `retake receipt keys`, the key itself or a PEM file',
    '--tape <run>': 'also check that the receipt is about this tape',
    '--page <file>': 'write a page that checks receipts in a browser, offline',
    ...DIR_OPTION,
  },
  examples: [
    'retake receipt check refund.receipt.json',
    'retake receipt check refund.receipt.json --key build-server',
    'retake receipt check --page check-receipts.html',
  ],
  async run(options, [file]) {
    const page = options.text('page')
    if (page !== undefined) await writeReceiptPage(page, { keys: knownKeys() })
    if (file === undefined) {
      if (page !== undefined) {
        options.print({ page }, () => [`written to ${page}`])
        return 0
      }
      throw usageError('Missing argument <file>.', 'For example: retake receipt check r.json.')
    }
    const key = options.text('key')
    const expected = key === undefined ? undefined : findKey(key)
    const tape = options.text('tape')
    const text = readReceipt(file)
    let checked = await checkReceipt(nodePlatform, text, (...given) =>
      nodePlatform.verifyEd25519?.(...given),
    )
    if (checked.ok && expected !== undefined && checked.seal?.key !== expected)
      checked = refuse(checked, 'its seal is not signed with the given key')
    if (checked.ok && tape !== undefined) {
      const { ok, digest } = options.openRun(tape).verify()
      if (!ok || digest !== checked.digest)
        checked = refuse(checked, 'it is about another tape than the given one')
    }
    options.print(jsonOf(checked), ({ paint }) =>
      receiptLines(checked, keyOwner).map(({ word, text: line }, index) =>
        word === undefined
          ? paint(index > 0 ? 'bold' : checked.ok ? 'green' : 'red', printable(line))
          : `  ${word.padEnd(8)}  ${printable(line)}`,
      ),
    )
    return checked.ok ? 0 : FOUND
  },
} satisfies Verb

const refuse = (checked: CheckedReceipt, problem: string): CheckedReceipt => ({
  ...checked,
  ok: false,
  problem,
})

function readReceipt(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw cliErrors.RECEIPT_UNREADABLE(file, error)
  }
}

/** Bodies as text. */
const jsonOf = ({ calls, ...rest }: CheckedReceipt): object => ({
  ...rest,
  calls: calls.map(({ body, answer, ...call }) => ({
    ...call,
    ...(body && { body: Buffer.from(body).toString() }),
    ...(answer && {
      answer: {
        event: answer.event,
        ...(answer.body && { body: Buffer.from(answer.body).toString() }),
      },
    }),
  })),
})
