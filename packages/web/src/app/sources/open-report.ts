import type { Tape } from '@retake/tape'
import { browserPlatform, readTape } from '@retake/tape/browser'
import { RunModel } from '../../model/run-model.js'
import type { RunSource } from '../../model/run-source.js'
import type { ReportParts } from '../../report/report-parts.js'
import type { ReportData, SourceCall } from './worker-client.js'

/** Answers calls of `RunSource` from the tape of a report, in pieces. */
export type ReportAnswers = (call: SourceCall) => Iterable<unknown>

type Answers = {
  readonly [Method in keyof RunSource]: (
    ...args: Parameters<RunSource[Method]>
  ) => Iterable<unknown>
}

function makeAnswers(model: RunModel, parts: ReportParts): ReportAnswers {
  const answers: Answers = {
    head: () => {
      const { tornBytes, damage } = parts
      return [{ ...model.head(), tornBytes, ...(damage && { damage }) }]
    },
    rows: ({ from } = {}) => model.rows(from),
    step: (label, options) => [model.step(label, options)],
    stream: (label) => [model.stream(label)],
    body: (label, side) => [model.body(label, side)],
    state: (label) => [model.state(label, parts.states)],
    console: () => [model.console()],
    files: () => [model.files()],
    events: (from, to) => [model.events(from, to)],
    event: (seq) => [model.event(seq)],
    findEvents: (text) => model.findEvents(text),
    search: (text) => model.search(text, { states: parts.states }),
    source: (site) => [Object.hasOwn(parts.sources, site) ? parts.sources[site] : undefined],
    findings: (tab) => [Object.hasOwn(parts.findings, tab) ? parts.findings[tab] : undefined],
  }
  return ({ method, args }) =>
    (answers[method] as (...args: unknown[]) => Iterable<unknown>)(...args)
}

async function unpack(block: string): Promise<Uint8Array> {
  const packed = fromBase64(block)
  if (typeof DecompressionStream !== 'function') return browserPlatform.inflateRaw(packed, Infinity)
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('deflate-raw'))
  return new Uint8Array(await new Response(stream).arrayBuffer())
}

/** Built into newer browsers, and ten times faster. */
const native = (Uint8Array as { fromBase64?: (text: string) => Uint8Array<ArrayBuffer> }).fromBase64

function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  if (native !== undefined) return native.call(Uint8Array, text)
  const binary = atob(text)
  const bytes = new Uint8Array(binary.length)
  for (let at = 0; at < binary.length; at++) bytes[at] = binary.charCodeAt(at)
  return bytes
}

/**
 * Reads the blocks of a report. Decompresses recorded bodies, except brotli, which browsers do not
 * expose.
 */
export async function openReport({ run, tapes, parts }: ReportData): Promise<ReportAnswers> {
  const [partBytes, ...bytes] = await Promise.all([parts, ...tapes].map((block) => unpack(block)))
  const known = JSON.parse(new TextDecoder().decode(partBytes)) as ReportParts
  let tape: Tape | undefined
  for (const each of bytes) tape = readTape(each, run, tape && { parent: tape })
  if (tape === undefined) throw new Error('the report contains no tape')
  const { status, redacted, prices } = known
  const model = new RunModel(tape, {
    status,
    redacted,
    prices,
    gunzip: (packed, { maxOutputLength }) => browserPlatform.gunzip(packed, maxOutputLength),
    inflate,
  })
  return makeAnswers(model, known)
}

/** HTTP `deflate` is the zlib format, but some servers omit its two header bytes. */
function inflate(packed: Uint8Array, { maxOutputLength }: { maxOutputLength: number }): Uint8Array {
  const [first = 0, second = 0] = packed
  const hasHeader = (first & 15) === 8 && ((first << 8) | second) % 31 === 0
  if (!hasHeader) throw new Error('not zlib data')
  return browserPlatform.inflateRaw(packed.subarray(2), maxOutputLength)
}
