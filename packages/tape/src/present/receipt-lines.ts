import { utf8 } from '../format/values/bytes.js'
import { clipText } from '../format/values/clip-text.js'
import type { SignatureState } from '../format/seal.js'
import type { CheckedReceipt, ProvenCall } from '../receipts/receipt.js'

const BODY_MAX = 2000

/** A line about a receipt: a heading, or a word with its value. */
interface ReceiptLine {
  readonly word?: string
  readonly text: string
}

/** The result of checking a receipt, as lines. `ownerOf` names the owner of a key, if known. */
export function receiptLines(
  checked: CheckedReceipt,
  ownerOf: (key: string) => string | undefined,
): ReceiptLine[] {
  const { ok, problem = '', run, count = 0, shown = 0, digest, seal, issuer, calls } = checked
  if (!ok || run === undefined) return [{ text: `not valid: ${problem}` }]
  const isChecked = seal?.state !== 'unchecked' && issuer?.state !== 'unchecked'
  const verdict = isChecked ? 'valid' : 'signatures not checked, everything else is valid'
  return [
    { text: `${verdict} · run ${run.id} (${run.name}) · shows ${shown} of ${count} events` },
    ...(digest === undefined ? [] : [{ word: 'digest', text: digest }]),
    { word: 'sealed', text: signatureText(seal?.state ?? 'none', seal?.key, ownerOf) },
    { word: 'issued', text: signatureText(issuer?.state ?? 'none', issuer?.key, ownerOf) },
    ...calls.flatMap(callLines),
  ]
}

function signatureText(
  state: SignatureState,
  key: string | undefined,
  ownerOf: (key: string) => string | undefined,
): string {
  if (state === 'none' || key === undefined)
    return 'not signed: compare the digest with one that you have from elsewhere'
  const owner = ownerOf(key)
  const by = `by ${key}, ${owner ?? 'a key that nobody has named here'}`
  return state === 'unchecked' ? `${by}; this browser cannot check the signature` : by
}

function callLines(call: ProvenCall): ReceiptLine[] {
  const { label, seq, startedAt, event, body, decision, approval, answer } = call
  const step = label === undefined ? [] : [`step ${label}`]
  let title: string = event.type
  if (event.type === 'request') title = `${event.method} ${event.url}`
  if (event.type === 'call') title = `${event.kind} ${event.name}`
  return [
    { text: [...step, `event ${seq}`, instant(startedAt), title].join(' · ') },
    { word: 'call', text: bodyText(body) },
    ...(decision === undefined
      ? []
      : [{ word: 'rule', text: `${decision.rule ?? 'default'}: ${decision.verdict}` }]),
    ...(approval === undefined
      ? decision?.verdict === 'ask'
        ? [{ word: 'approved', text: 'not shown' }]
        : []
      : [
          {
            word: 'approved',
            text: `by ${approval.by} (${approval.how}), ${instant(approval.decidedAt)}`,
          },
        ]),
    ...(answer === undefined ? [] : [{ word: 'answer', text: bodyText(answer.body) }]),
  ]
}

/** Independent of the time zone, because receipts are read elsewhere. */
const instant = (epochMs: number): string => new Date(epochMs).toISOString()

function bodyText(body: Uint8Array | undefined): string {
  if (body === undefined) return 'hidden'
  if (body.length === 0) return 'empty'
  const text = utf8(body)
  return text === undefined ? `${body.length} bytes` : clipText(text, BODY_MAX)
}
