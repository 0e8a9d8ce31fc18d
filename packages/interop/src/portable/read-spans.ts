import { createReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import zlib from 'node:zlib'
import { parseJson, recordOf } from '@retake/tape'
import { RECORD_FORMATS } from './foreign-records.js'
import { JsonStream, type JsonAction } from './json-stream.js'
import { BrokenSpan, decodeResource, decodeScope, decodeSpan } from './otlp-decode.js'
import { ProtobufStream } from './protobuf-stream.js'
import type { Span, SpanResource, SpanScope } from './span.js'

type RecordFormat = keyof typeof RECORD_FORMATS
export type ImportFormat = 'otlp' | RecordFormat
export const IMPORT_FORMATS: readonly ImportFormat[] = [
  'otlp',
  ...(Object.keys(RECORD_FORMATS) as RecordFormat[]),
]

export interface SpanSink {
  span(span: Span): void
  /** Reports something left out; `why` names it in the plural. */
  problem(why: string): void
}

/** Number of bytes needed to detect the format of a file. */
const HEAD_BYTES = 256 << 10

/** Detects the format of a file by its beginning; undefined if unknown. */
export function detectFormat(head: Buffer): ImportFormat | undefined {
  if (head.length === 0) return undefined
  const text = head.toString('latin1', 0, HEAD_BYTES).trimStart()
  // The first field of an OTLP request is a list of resources.
  if (!/^[[{]/.test(text)) return head[0] === 0x0a ? 'otlp' : undefined
  const has = (...keys: readonly string[]): boolean =>
    keys.every((key) => text.includes(`"${key}"`))
  if (has('resourceSpans') || has('resource_spans')) return 'otlp'
  if (has('log', 'entries') && has('creator')) return 'har'
  if (has('run_type')) return 'langsmith'
  if (has('log_format_version', 'run_id')) return 'agentrr'
  if (has('dataset_name', 'examples') && text.includes('tracefork.')) return 'tracefork'
  if (has('span_attributes') || has('child_spans')) return 'trail'
  if (has('context', 'trace_id') || has('openinference.span.kind')) return 'openinference'
  if (
    has('observations') ||
    (has('type') && (has('traceId') || has('trace_id')) && (has('startTime') || has('start_time')))
  )
    return 'langfuse'
  return undefined
}

/** Decompressed pieces of a file. The first is long enough to detect the format. */
export async function* readChunks(file: string): AsyncGenerator<Buffer> {
  const handle = await open(file)
  const { buffer: start } = await handle.read(Buffer.alloc(2), 0, 2, 0)
  await handle.close()
  const raw = createReadStream(file, { highWaterMark: 1 << 20 })
  const isGzip = start[0] === 0x1f && start[1] === 0x8b
  const stream: Readable = isGzip ? raw.pipe(zlib.createGunzip()) : raw
  let head: Buffer | undefined = Buffer.alloc(0)
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      if (head === undefined) yield chunk
      else {
        head = Buffer.concat([head, chunk])
        if (head.length < HEAD_BYTES) continue
        yield head
        head = undefined
      }
    }
  } catch (error) {
    // Everything before the cut of a truncated archive is read.
    if (head !== undefined && head.length > 0) yield head
    throw error
  }
  if (head !== undefined && head.length > 0) yield head
}

/**
 * Reads the spans of a file or download in any format. Returns the format; undefined for an
 * unknown format or an empty file.
 */
export async function readSpans(
  chunks: AsyncIterable<Buffer> | Iterable<Buffer>,
  sink: SpanSink,
  { format, source }: { readonly format?: ImportFormat | undefined; readonly source: string },
): Promise<ImportFormat | undefined> {
  let found = format
  let reader: SpanReader | undefined
  try {
    for await (const chunk of chunks) {
      found ??= detectFormat(chunk)
      if (found === undefined) return undefined
      reader ??= readerOf(found, chunk, sink, source)
      reader.write(chunk)
    }
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException
    if (!code.startsWith('Z_')) throw error
    sink.problem('parts that cannot be unpacked')
  }
  reader?.end()
  return reader && found
}

/** A reader of one format, which gets its bytes in pieces. */
export interface SpanReader {
  write(chunk: Buffer): void
  end(): void
}

export function readerOf(
  format: ImportFormat,
  head: Buffer,
  sink: SpanSink,
  source: string,
): SpanReader {
  if (format !== 'otlp') return recordReader(format, head, sink, source)
  const isJson = /^\s*[[{]/.test(head.toString('latin1'))
  const groups = new SpanGroups(sink)
  return isJson ? otlpJsonReader(groups) : new ProtobufStream(groups)
}

/** Groups that spans belong to. Facts about a group count even if they follow its spans. */
class SpanGroups {
  #resource: { attributes: SpanResource['attributes'] } = { attributes: {} }
  #scope: SpanScope = { name: '' }

  constructor(private readonly sink: SpanSink) {}

  resource(json: unknown): void {
    this.#resource = decodeResource(json)
  }

  scope(json: unknown): void {
    this.#scope = decodeScope(json)
  }

  span(json: unknown): void {
    try {
      this.sink.span(decodeSpan(json, { resource: this.#resource, scope: this.#scope }))
    } catch (error) {
      if (!(error instanceof BrokenSpan)) throw error
      this.sink.problem(error.message)
    }
  }

  broken(): void {
    this.sink.problem('parts of invalid OTLP')
  }
}

const OTLP_PATHS: Readonly<Record<string, JsonAction>> = {
  '': 'enter',
  resourceSpans: 'enter',
  'resourceSpans.*': 'enter',
  'resourceSpans.*.resource': 'take',
  'resourceSpans.*.scopeSpans': 'enter',
  'resourceSpans.*.scopeSpans.*': 'enter',
  'resourceSpans.*.scopeSpans.*.scope': 'take',
  'resourceSpans.*.scopeSpans.*.spans': 'enter',
  'resourceSpans.*.scopeSpans.*.spans.*': 'take',
}

/** Also accepts lists of requests, names in snake case, and the older name of scopes. */
const otlpPath = (path: string): string =>
  path
    .replace(/^\*\.?/, '')
    .replaceAll('resource_spans', 'resourceSpans')
    .replaceAll(/scope_spans|instrumentationLibrarySpans/g, 'scopeSpans')
    .replace('instrumentationLibrary', 'scope')

const otlpJsonReader = (groups: SpanGroups): SpanReader =>
  new JsonStream({
    decide: (path) => OTLP_PATHS[otlpPath(path)] ?? 'skip',
    entered(path) {
      if (/resource_?[sS]pans\.\*$/.test(path)) groups.resource({})
      if (/(?:scope_?[sS]pans|instrumentationLibrarySpans)\.\*$/.test(path)) groups.scope({})
    },
    taken(path, text) {
      const json = parseJson(text)
      if (json === undefined) groups.broken()
      else if (path.endsWith('.*')) groups.span(json)
      else if (path.endsWith('resource')) groups.resource(json)
      else groups.scope(json)
    },
    broken: () => groups.broken(),
  })

/** Keys of record lists in documents of other tools. */
const LISTS = ['observations', 'runs', 'spans', 'data', 'traces', 'examples']

function recordReader(
  format: RecordFormat,
  head: Buffer,
  sink: SpanSink,
  source: string,
): SpanReader {
  const start = head.toString('latin1', 0, HEAD_BYTES)
  const isList = /^\s*\[/.test(start)
  const list =
    format === 'har'
      ? 'log.entries'
      : LISTS.find((name) => new RegExp(`^\\s*\\{[^[\\]]*"${name}"\\s*:\\s*\\[`).test(start))
  // Fields of the document around a list, because a Langfuse trace is itself a span.
  const around: Record<string, unknown> = {}
  let first: Readonly<Record<string, unknown>> | undefined
  let index = 0
  const read = (record: Readonly<Record<string, unknown>>): void => {
    first ??= record
    try {
      for (const span of RECORD_FORMATS[format](record, { index: index++, first, source }))
        sink.span(span)
    } catch (error) {
      if (!(error instanceof BrokenSpan)) throw error
      sink.problem(error.message)
    }
  }
  const stream = new JsonStream({
    decide(path) {
      if (list === undefined) return isList && path === '' ? 'enter' : 'take'
      if (path === '' || path === list || list.startsWith(`${path}.`)) return 'enter'
      return path === `${list}.*` || !path.includes('.') ? 'take' : 'skip'
    },
    entered: () => {},
    taken(path, text) {
      const json = parseJson(text)
      if (json === undefined) sink.problem('records of invalid JSON')
      else if (list !== undefined && path !== `${list}.*`) around[path] = json
      else read(recordOf(json))
    },
    broken: () => sink.problem('parts of invalid JSON'),
  })
  return {
    write: (chunk) => stream.write(chunk),
    end() {
      stream.end()
      if (format === 'langfuse' && list === 'observations' && around['id'] !== undefined)
        read(around)
    },
  }
}
