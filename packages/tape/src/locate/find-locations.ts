import { attempt } from '../format/values/attempt.js'
import type {
  BodyForm,
  CallEvent,
  DeliverEvent,
  HeaderPair,
  RecordedError,
  ResultEvent,
  SocketEvent,
  TapeEvent,
} from '../format/events.js'
import { fileFunctionName } from '../format/file-functions.js'
import { defined, parseJson } from '../format/values/json-shape.js'
import { isEnvironmentNote, readsOf } from '../format/environment-reads.js'
import type { RunView } from '../read-model/run-view.js'
import type { Step } from '../read-model/step.js'
import type { TapeLike } from '../format/tape-like.js'
import { utf8 } from '../format/values/bytes.js'
import { wireAsJson } from '../diff/json-value.js'
import type { Occurrence, SourceKind } from './locate.js'
import type { Hit, ValueMatcher } from './search-pieces.js'
import { searchJson, searchPieces, searchStream, searchText } from './search-pieces.js'

/** Origin and direction of content. */
type Whose = Pick<Occurrence, 'direction' | 'source' | 'name' | 'step' | 'site'>

/** A location on a tape that can contain a value. Its content is only read when it is searched. */
interface ValueLocation extends Whose {
  readonly seq: number
  search(matcher: ValueMatcher): Hit[]
}

/** Searches one location, or two that must be read together. */
export type ValueSearch = (
  matcher: ValueMatcher,
) => { readonly location: ValueLocation; readonly hit: Hit }[]

const searchOf =
  (location: ValueLocation): ValueSearch =>
  (matcher) =>
    location.search(matcher).map((hit) => ({ location, hit }))

/**
 * Everything on a tape that can contain a value, inside and outside of steps. Excludes what the
 * agent wrote to non-HTTP connections: a tape has only its digest.
 */
export const findLocations = (tape: TapeLike, view: RunView): ValueSearch[] => {
  const finder = new LocationFinder(tape, view)
  for (const event of tape.events()) finder.add(event)
  return finder.searches()
}

class LocationFinder {
  readonly #searches: ValueSearch[] = []
  /** Content spread over several events: a stream, a pipe, a file read in pieces. */
  readonly #pieces = new Map<string, { readonly whose: Whose; readonly seqs: number[] }>()
  readonly #ops = new Map<number, CallEvent | SocketEvent>()
  /** Labels of steps by the event that starts them. */
  readonly #steps: ReadonlyMap<number, string>
  /** Events whose bytes are read as part of an HTTP answer or an MCP message. */
  readonly #read = new Set<number>()

  constructor(
    private readonly tape: TapeLike,
    view: RunView,
  ) {
    this.#steps = new Map(view.recordedSteps.map(({ seq, label }) => [seq, label]))
    for (const step of view.recordedSteps) {
      const { kind, seq, answerSeqs } = step
      const isStdio = step.mcp()?.transport === 'stdio'
      if (isStdio) this.#searches.push(...messageLocations(step).map(searchOf))
      else if (tape.event(seq).type === 'request')
        // Request and answer are read together, because each needs the decoded exchange, and are not
        // cached, because conversations are long.
        this.#searches.push((matcher) =>
          exchangeLocations(tape, step).flatMap((location) => searchOf(location)(matcher)),
        )
      else continue
      // After a protocol upgrade, the bytes are no longer an HTTP answer.
      const isUpgrade = kind === 'http' && step.title.endsWith(' 101')
      for (const read of isUpgrade ? [] : answerSeqs) this.#read.add(read)
      if (isStdio) this.#read.add(seq)
    }
  }

  add(event: TapeEvent): void {
    const { seq } = event
    switch (event.type) {
      case 'run': {
        const { env = {}, args, command, entry, cwd } = this.tape.details
        const put = (source: SourceKind, name: string, value: unknown): void =>
          this.#put(seq, { direction: 'in', source, name }, (matcher) => searchJson(value, matcher))
        put('arguments', 'the command line', { args, command, entry, cwd })
        for (const [name, value] of Object.entries(env)) put('environment', name, value)
        return
      }
      case 'draw': {
        const value = wireAsJson(event.value)
        const whose = { direction: 'in', source: 'draw', name: event.kind } as const
        return this.#put(seq, whose, (matcher) => searchJson(value, matcher))
      }
      case 'call':
        return this.#call(event)
      case 'socket':
        this.#ops.set(seq, event)
        return
      case 'result':
        return this.#result(event)
      case 'deliver':
        return this.#deliver(event)
      case 'write': {
        const call = this.#ops.get(event.op)
        if (call?.type !== 'call' || this.#read.has(seq)) return
        return this.#addPiece(`${event.op} stdin`, seq, this.#whose(call, 'out'))
      }
      case 'output': {
        const { stream } = event
        return this.#addPiece(stream, seq, { direction: 'out', source: 'output', name: stream })
      }
      case 'note':
        if (isEnvironmentNote(event))
          for (const { name, value } of readsOf(this.tape, seq).reads)
            this.#put(seq, { direction: 'in', source: 'environment', name }, (matcher) =>
              searchText(value ?? '', matcher, ''),
            )
        if (event.kind === 'mark') {
          const { name, text = '', site } = event
          const step = this.#steps.get(seq)
          const whose = defined({ direction: 'out', source: 'mark', name, step, site } as const)
          this.#put(seq, whose, (matcher) => searchText(`${name}: ${text}`, matcher, ''))
        }
        return
      case 'end': {
        const { as, error } = event
        const name = error === undefined ? 'the result' : 'the error'
        return this.#put(seq, { direction: 'out', source: 'outcome', name }, (matcher) => [
          ...this.#searchBody(seq, as, matcher, ''),
          ...searchError(error, matcher),
        ])
      }
      case 'request':
      case 'response':
        // Read together with their steps.
        return
      case 'timer':
      case 'work':
      case 'seal':
    }
  }

  searches(): ValueSearch[] {
    for (const { whose, seqs } of this.#pieces.values())
      this.#put(seqs[0] ?? 0, whose, (matcher) => searchBodies(this.tape, seqs, matcher))
    return this.#searches
  }

  #put(seq: number, whose: Whose, search: ValueLocation['search']): void {
    this.#searches.push(searchOf({ ...whose, seq, search }))
  }

  #addPiece(key: string, seq: number, whose: Whose): void {
    const group = this.#pieces.get(key)
    if (group === undefined) this.#pieces.set(key, { whose, seqs: [seq] })
    else group.seqs.push(seq)
  }

  #whose(op: CallEvent | SocketEvent, direction: Whose['direction']): Whose {
    const step = this.#steps.get(op.seq)
    if (op.type === 'socket') {
      const name = op.path ?? `${op.host}:${op.port}`
      return defined({ direction, source: 'connection', name, step } as const)
    }
    const { kind, title, site } = op
    // A file or a program is identified by its path, a tool by its name.
    const name = kind === 'tool' ? op.name : (title ?? op.name)
    return defined({ direction, source: kind, name, step, site })
  }

  #call(call: CallEvent): void {
    const { seq, kind, name, title, as } = call
    this.#ops.set(seq, call)
    if (fileFunctionName(name) === 'open')
      for (const opened of [`read ${title}`, `write ${title}`]) {
        // Ends a group of pieces: what follows under this key is different content.
        const group = this.#pieces.get(opened)
        if (group === undefined) continue
        this.#pieces.delete(opened)
        this.#pieces.set(`${opened} until ${group.seqs.at(-1)}`, group)
      }
    const key = transferKey(call)
    const whose = this.#whose(call, 'out')
    if (key?.startsWith('write') === true && as !== undefined && as !== 'json')
      return this.#addPiece(key, seq, whose)
    this.#put(seq, whose, (matcher) => [
      ...(title === undefined ? [] : searchText(title, matcher, TITLE_PATHS[kind])),
      ...this.#searchBody(seq, as, matcher, kind === 'tool' ? 'args' : ''),
    ])
  }

  #result({ seq, op, as, error }: ResultEvent): void {
    const call = this.#ops.get(op)
    if (call?.type !== 'call') return
    const key = transferKey(call)
    const whose = this.#whose(call, 'in')
    if (key?.startsWith('read') === true && as === 'bytes') return this.#addPiece(key, seq, whose)
    this.#put(seq, whose, (matcher) => [
      ...this.#searchBody(seq, as, matcher, call.kind === 'tool' ? 'result' : ''),
      ...searchError(error, matcher),
    ])
  }

  #deliver(event: DeliverEvent): void {
    const { seq, part, error } = event
    const op = this.#ops.get(event.op)
    if (op === undefined) return
    const whose = this.#whose(op, 'in')
    if (part === 'chunk') {
      if (!this.#read.has(seq)) this.#addPiece(`${event.op} ${event.pipe ?? ''}`, seq, whose)
      return
    }
    const value = event.value === undefined ? undefined : wireAsJson(event.value)
    if (value === undefined && error === undefined) return
    this.#put(seq, whose, (matcher) => [
      ...searchJson(value, matcher, part),
      ...searchError(error, matcher),
    ])
  }

  #searchBody(seq: number, as: BodyForm | undefined, matcher: ValueMatcher, root: string): Hit[] {
    if (as === undefined) return []
    const bytes = this.tape.body(seq)
    const text = as === 'json' ? utf8(bytes) : undefined
    return text === undefined
      ? searchPieces([{ seq, bytes }], matcher)
      : searchJson(wireAsJson(parseJson(text)), matcher, root)
  }
}

const TITLE_PATHS: Readonly<Record<CallEvent['kind'], string>> = {
  file: 'path',
  process: 'command',
  tool: 'title',
  dns: 'host',
  input: 'name',
  worker: 'file',
  database: 'statement',
}

/** Groups the reads or writes of a file, which form one content. */
const transferKey = ({ kind, name, title }: CallEvent): string | undefined => {
  if (kind !== 'file') return undefined
  const [, way] = /^(read|write)v?$/.exec(fileFunctionName(name)) ?? []
  return way === undefined || title === undefined ? undefined : `${way} ${title}`
}

const searchError = (error: RecordedError | undefined, matcher: ValueMatcher): Hit[] =>
  error === undefined ? [] : searchText(error.message, matcher, 'error.message')

const searchBodies = (tape: TapeLike, seqs: readonly number[], matcher: ValueMatcher): Hit[] =>
  searchPieces(
    seqs.map((seq) => ({ seq, bytes: tape.body(seq) })),
    matcher,
  )

/** An MCP request on a pipe, and its answer; reversed for requests of the server. */
const messageLocations = (step: Step): ValueLocation[] => {
  const isServers = step.mcp()?.askedBy === 'server'
  const isTool = step.kind === 'tool'
  const common = defined({
    source: isTool ? ('tool' as const) : ('mcp' as const),
    name: isTool ? (step.call()?.name ?? '') : step.title,
    step: step.label,
    site: step.site,
  })
  const request: ValueLocation = {
    ...common,
    seq: step.seq,
    direction: isServers ? 'in' : 'out',
    search: (matcher) => searchJson(step.call()?.args, matcher, 'args'),
  }
  const answer: ValueLocation = {
    ...common,
    seq: step.answerSeqs.at(-1) ?? step.seq,
    direction: isServers ? 'out' : 'in',
    search: (matcher) => {
      const { result, error } = step.call() ?? {}
      const failure = error && { message: error.message, data: error.props?.['data'] }
      return [...searchJson(result, matcher, 'result'), ...searchJson(failure, matcher, 'error')]
    },
  }
  return step.answerSeqs.length === 0 ? [request] : [request, answer]
}

const exchangeLocations = (tape: TapeLike, step: Step): ValueLocation[] => {
  const exchange = step.exchange()
  if (exchange === undefined) return []
  const { seq, answerSeqs } = step
  const { request, response } = exchange
  const name = exchange.model ?? request.url
  const common = defined({ name, step: step.label, site: step.site })
  // A piece has the time of the event that contains it.
  const byTime = new Map(answerSeqs.map((answer) => [tape.event(answer).at, answer]))
  const seqAt = ({ at }: { readonly at: number }): number =>
    byTime.get(at) ?? answerSeqs.at(-1) ?? seq
  return [
    {
      ...common,
      seq,
      direction: 'out',
      source: 'request',
      search: (matcher) => [
        ...searchUrl(request.url, matcher),
        ...searchHeaders(request.headers, matcher),
        ...searchPieces([{ seq, bytes: request.body }], matcher),
      ],
    },
    {
      ...common,
      seq: answerSeqs[0] ?? seq,
      direction: 'in',
      source: 'answer',
      search: (matcher) => {
        // The answer broke off before its head was complete.
        if (response === undefined) return searchBodies(tape, answerSeqs, matcher)
        const { events, chunks } = response
        const pieces = chunks.map((chunk) => ({ seq: seqAt(chunk), bytes: chunk.bytes }))
        return [
          ...searchHeaders(response.headers, matcher),
          ...(events === undefined
            ? searchPieces(pieces, matcher)
            : searchStream(events, seqAt, matcher)),
        ]
      },
    },
  ]
}

/** Searches the URL both encoded and decoded. */
const searchUrl = (url: string, matcher: ValueMatcher): Hit[] => {
  const hits = searchText(url, matcher, 'url')
  return hits.length > 0
    ? hits
    : searchText(
        attempt(() => decodeURIComponent(url.replaceAll('+', ' ')), url),
        matcher,
        'url',
      )
}

const searchHeaders = (headers: readonly HeaderPair[], matcher: ValueMatcher): Hit[] =>
  headers.flatMap(([name, value]) => searchJson({ [name]: value }, matcher, 'headers'))
