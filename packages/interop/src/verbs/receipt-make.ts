import { writeOrReport } from '@retake/runner/verify'
import { writeFileSync } from 'node:fs'
import { sign } from 'node:crypto'
import { ownOrNewKey, publicKeyText } from '@retake/engine/runs'
import { type DisclosedStep, draftReceipt, issueReceipt, type Tape } from '@retake/tape'
import { nodePlatform } from '@retake/tape/node'
import { plural } from '@retake/tape/present'
import { writeReceiptPage } from '../receipts/receipt-page.js'
import { DIR_OPTION, type Options, usageError, type Verb } from '@retake/runner/command-line'
import { cliErrors } from '@retake/runner/errors'
import { checkTape } from '@retake/runner/runs'
import { findStep, viewRun } from '@retake/runner/runs'
import { printJson } from '@retake/runner/terminal'

export default {
  arguments: '<run>',
  description: `Writes a receipt: a file that proves selected steps of a run to somebody who does
not have its tape, and hides everything else. For each step, it contains the call, the guard rule
that decided about it, its approval, the Merkle proof that it is on the tape, and the signature of
the seal. The receipt is signed with your key (\`retake receipt keys\`). \`retake receipt check\` checks
it.

Use it with runs that were recorded with --sign: their seal is signed, each step can be disclosed
separately, and the content of hidden steps cannot be guessed.`,
  options: {
    '--steps <numbers>': 'steps to disclose, separated by commas, such as 3,4 (required)',
    '--answers': 'also disclose the answers to these steps',
    '--hide-bodies': 'disclose only the sha256 of bodies longer than 511 bytes',
    '--allow-neighbors':
      'allow disclosing the events just before a step, too, if the run was recorded without --sign',
    '-o, --out <file>': 'write the receipt to this file (default: stdout)',
    '--html <file>':
      'also write a page that contains the receipt and checks it in a browser, offline',
    ...DIR_OPTION,
    '--json': 'with --out or --html: print a summary as JSON',
  },
  examples: [
    'retake receipt make last --steps 3 --out refund.receipt.json',
    'retake receipt make last --steps 3,4 --answers --html refund.html',
  ],
  async run(options, [name = '']) {
    const tape = options.openRun(name)
    const { id } = tape.run
    const { integrity, detail } = checkTape(tape)
    if (integrity !== 'intact')
      throw cliErrors.RECEIPT_NOT_POSSIBLE(id, `Its tape is ${integrity}: ${detail}.`)

    const steps = disclosedSteps(tape, options)
    const { content, neighbors } = draftReceipt(nodePlatform, tape, steps, {
      hidesBodies: options.flag('hide-bodies'),
    })
    if (neighbors.length > 0 && !options.flag('allow-neighbors'))
      throw cliErrors.RECEIPT_SHOWS_NEIGHBORS(
        tape.run.id,
        neighbors.map(({ seq, type }) => `${type} ${seq}`),
      )
    const key = ownOrNewKey('seal')
    const text = issueReceipt(content, (message) => ({
      key: publicKeyText(key),
      signature: sign(null, message, key).toString('base64'),
    }))
    const out = options.text('out')
    const html = options.text('html')
    if (out !== undefined) writeOrReport(out, () => writeFileSync(out, text))
    if (html !== undefined) await writeReceiptPage(html, { receipt: text })
    if (out === undefined && html === undefined) process.stdout.write(text)
    else if (options.json)
      printJson({
        run: tape.run.id,
        digest: tape.digest,
        steps: steps.map(({ label }) => label),
        bytes: Buffer.byteLength(text),
        proofBytes: Math.max(
          ...content.links.map(
            ({ proof }) => 32 * proof.reduce((sum, { beside }) => sum + beside.length, 0),
          ),
        ),
        neighbors: neighbors.length,
        ...(out !== undefined && { out }),
        ...(html !== undefined && { html }),
      })
    else
      process.stderr.write(
        `${[out, html].filter((file) => file !== undefined).join(', ')}: ${plural(steps.length, 'step')} of run ${tape.run.id}\n`,
      )
    return 0
  },
} satisfies Verb

function disclosedSteps(tape: Tape, options: Options): DisclosedStep[] {
  const view = viewRun(tape)
  const labels = (options.text('steps') ?? '').split(',').map((label) => label.trim())
  return [...new Set(labels)].map((label) => {
    const { seq, answerSeqs, inferred } = findStep(view, label)
    const { type } = tape.event(seq)
    if (inferred || (type !== 'call' && type !== 'request'))
      throw usageError(
        `Step ${label} has no call of its own on the tape.`,
        inferred
          ? 'It is known only from messages of the model; disclose the step that contains them.'
          : 'A receipt discloses calls and requests.',
      )
    if (seq < tape.ownFrom)
      throw cliErrors.RECEIPT_STEP_OF_PARENT(label, tape.run.id, tape.run.parent?.run ?? '')
    return { label, seq, answerSeqs: options.flag('answers') ? answerSeqs : [] }
  })
}
