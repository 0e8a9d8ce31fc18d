import type { Tape } from '@retake/tape'
import { browserPlatform, readTape } from '@retake/tape/browser'
import { RunModel } from '../../model/run-model.js'
import type { ReportParts } from '../../report/report-parts.js'
import { ReportAnswers } from './report-answers.js'
import { unpack, unpackJson } from './unpack.js'
import type { ReportData } from './worker-protocol.js'

/** Reads the blocks of a report. Compressed answers that were recorded as they came are undone, but for brotli, which browsers keep to themselves. */
export async function openReport({ run, tapes, parts }: ReportData): Promise<ReportAnswers> {
  const [known, ...bytes] = await Promise.all([
    unpackJson(parts) as Promise<ReportParts>,
    ...tapes.map((tape) => unpack(tape)),
  ])
  let tape: Tape | undefined
  for (const each of bytes) tape = readTape(each, run, tape && { parent: tape })
  if (tape === undefined) throw new Error('the report holds no tape')
  const { status, redacted, prices } = known
  const model = new RunModel(tape, {
    status,
    redacted,
    prices,
    gunzip: (packed) => browserPlatform.gunzip(packed),
    inflate,
  })
  return new ReportAnswers(model, known)
}

/** `deflate` on the wire is zlib's format; some servers send it without its two bytes of header. */
function inflate(packed: Uint8Array): Uint8Array {
  const [first = 0, second = 0] = packed
  const hasHeader = (first & 15) === 8 && ((first << 8) | second) % 31 === 0
  if (!hasHeader) throw new Error('not zlib data')
  return browserPlatform.inflateRaw(packed.subarray(2))
}
