import {
  type CallEvent,
  type DeliverEvent,
  isEnvironmentNote,
  type RunView,
  type SocketEvent,
  type Step,
  type TapeEvent,
  type TapeLike,
  type WriteEvent,
} from '@retake/tape'
import { wireAsJson } from '../json-value.js'
import {
  callLocation,
  endLocation,
  nameOf,
  resultLocation,
  runLocations,
  searchError,
  variableLocations,
} from './event-locations.js'
import { searchExchange } from './exchange-locations.js'
import { type ValueLocation, type Search, searchOf } from './value-location.js'
import { searchJson, searchText } from './search-pieces.js'
import { searchPieces } from './search-pieces.js'

type Whose = Omit<ValueLocation, 'seq' | 'search'>

/** Contents that come in pieces over several events: a stream, a pipe, a file read bit by bit. */
class PieceGroups {
  readonly #tape: TapeLike
  readonly #groups = new Map<string, { readonly whose: Whose; readonly seqs: number[] }>()
  #closed = 0

  constructor(tape: TapeLike) {
    this.#tape = tape
  }

  /** Adds the body of an event to a content. */
  add(key: string, seq: number, whose: Whose): void {
    const group = this.#groups.get(key)
    if (group === undefined) this.#groups.set(key, { whose, seqs: [seq] })
    else group.seqs.push(seq)
  }

  /** What comes under this key from here on is another content. */
  close(key: string): void {
    const group = this.#groups.get(key)
    if (group === undefined) return
    this.#groups.delete(key)
    this.#groups.set(`${key} ${this.#closed++}`, group)
  }

  locations(): ValueLocation[] {
    return [...this.#groups.values()].map(({ whose, seqs }) => ({
      ...whose,
      seq: seqs[0] ?? 0,
      search: (matcher) =>
        searchPieces(
          seqs.map((seq) => ({ seq, bytes: this.#tape.body(seq) })),
          matcher,
        ),
    }))
  }
}

/** What an MCP request on a pipe asks, and what its answer says. A request of the server comes in and is answered. */
const messageLocations = (step: Step): ValueLocation[] => {
  const askedBy = step.mcp()?.askedBy
  const common = {
    source: step.kind === 'tool' ? ('tool' as const) : ('mcp' as const),
    name: step.kind === 'tool' ? (step.call()?.name ?? '') : step.title,
    step: step.label,
    ...(step.site !== undefined && { site: step.site }),
  }
  const request: ValueLocation = {
    ...common,
    seq: step.seq,
    direction: askedBy === 'server' ? 'in' : 'out',
    search: (matcher) => searchJson(step.call()?.args, matcher, 'args'),
  }
  const answered: ValueLocation = {
    ...common,
    seq: step.answerSeqs.at(-1) ?? step.seq,
    direction: askedBy === 'server' ? 'out' : 'in',
    search: (matcher) => {
      const call = step.call()
      const error = call?.error && { message: call.error.message, data: call.error.props?.['data'] }
      return [
        ...searchJson(call?.result, matcher, 'result'),
        ...searchJson(error, matcher, 'error'),
      ]
    },
  }
  return step.answerSeqs.length === 0 ? [request] : [request, answered]
}

/**
 * Everything on a tape that can hold a value, whether it belongs to a step or
 * not. What the agent wrote into a connection that is not HTTP is not among it: a
 * tape holds only its digest.
 */
export const findLocations = (tape: TapeLike, view: RunView): Search[] => {
  const finder = new LocationFinder(tape, view)
  for (const event of tape.events()) finder.add(event)
  return finder.searches()
}

class LocationFinder {
  readonly #tape: TapeLike
  readonly #exchanges: Search[] = []
  readonly #locations: ValueLocation[] = []
  readonly #pieces: PieceGroups
  readonly #ops = new Map<number, CallEvent | SocketEvent>()
  /** Labels of steps by the event that starts them. */
  readonly #steps: ReadonlyMap<number, string>
  /** Events whose bytes are read as part of an HTTP answer. */
  readonly #read = new Set<number>()

  constructor(tape: TapeLike, view: RunView) {
    this.#tape = tape
    this.#pieces = new PieceGroups(tape)
    this.#steps = new Map(view.recordedSteps.map(({ seq, label }) => [seq, label]))
    for (const step of view.recordedSteps) {
      const { kind, answerSeqs } = step
      if (step.mcp()?.transport === 'stdio') {
        this.#locations.push(...messageLocations(step))
        for (const seq of [step.seq, ...answerSeqs]) this.#read.add(seq)
        continue
      }
      if (tape.event(step.seq).type !== 'request') continue
      this.#exchanges.push(searchExchange(tape, step))
      // After an upgrade of the protocol, what follows is no HTTP answer any more.
      const isUpgrade = kind === 'http' && step.title.endsWith(' 101')
      if (!isUpgrade) for (const seq of answerSeqs) this.#read.add(seq)
    }
  }

  add(event: TapeEvent): void {
    const { seq } = event
    switch (event.type) {
      case 'run':
        this.#locations.push(...runLocations(this.#tape, event))
        break
      case 'draw': {
        const value = wireAsJson(event.value)
        this.#locations.push({
          seq,
          direction: 'in',
          source: 'draw',
          name: event.kind,
          search: (matcher) => searchJson(value, matcher),
        })
        break
      }
      case 'call':
        this.#call(event)
        break
      case 'socket':
        this.#ops.set(seq, event)
        break
      case 'result':
        this.#result(event)
        break
      case 'deliver':
        this.#deliver(event)
        break
      case 'write':
        this.#write(event)
        break
      case 'output':
        this.#pieces.add(event.stream, seq, {
          direction: 'out',
          source: 'output',
          name: event.stream,
        })
        break
      case 'note':
        if (isEnvironmentNote(event)) this.#locations.push(...variableLocations(this.#tape, seq))
        if (event.kind === 'mark') {
          const { name, text = '', site } = event
          this.#locations.push({
            seq,
            direction: 'out',
            source: 'mark',
            name,
            ...this.#stepAt(seq),
            ...(site !== undefined && { site }),
            search: (matcher) => searchText(`${name}: ${text}`, matcher, ''),
          })
        }
        break
      case 'end':
        this.#locations.push(endLocation(this.#tape, event))
        break
      case 'request':
      case 'response':
        // Read with the steps they belong to.
        break
      case 'timer':
      case 'work':
      case 'seal':
        break
    }
  }

  searches(): Search[] {
    return [...this.#exchanges, ...[...this.#locations, ...this.#pieces.locations()].map(searchOf)]
  }

  #stepAt(seq: number): { step?: string } {
    const step = this.#steps.get(seq)
    return step === undefined ? {} : { step }
  }

  #call(call: CallEvent): void {
    this.#ops.set(call.seq, call)
    const key = transferKey(call)
    if (/\.(open|openSync)$/.test(call.name)) {
      for (const way of ['read', 'write']) this.#pieces.close(`${way} ${call.title}`)
    }
    if (key?.startsWith('write') === true && call.as !== undefined && call.as !== 'json') {
      this.#pieces.add(key, call.seq, {
        direction: 'out',
        source: 'file',
        name: nameOf(call),
        ...(call.site !== undefined && { site: call.site }),
      })
    } else this.#locations.push(callLocation(this.#tape, call, this.#steps.get(call.seq)))
  }

  #result(event: TapeEvent & { readonly type: 'result' }): void {
    const call = this.#ops.get(event.op)
    if (call?.type !== 'call') return
    const key = transferKey(call)
    if (key?.startsWith('read') === true && event.as === 'bytes') {
      this.#pieces.add(key, event.seq, {
        direction: 'in',
        source: 'file',
        name: nameOf(call),
        ...(call.site !== undefined && { site: call.site }),
      })
    } else this.#locations.push(resultLocation(this.#tape, call, event, this.#steps.get(call.seq)))
  }

  #write({ seq, op }: WriteEvent): void {
    const call = this.#ops.get(op)
    if (call?.type !== 'call' || this.#read.has(seq)) return
    this.#pieces.add(`${op} stdin`, seq, {
      direction: 'out',
      source: call.kind,
      name: nameOf(call),
      ...this.#stepAt(op),
      ...(call.site !== undefined && { site: call.site }),
    })
  }

  #deliver(event: DeliverEvent): void {
    const op = this.#ops.get(event.op)
    if (op === undefined) return
    const whose = {
      direction: 'in' as const,
      source: op.type === 'socket' ? ('connection' as const) : op.kind,
      name: op.type === 'socket' ? (op.path ?? `${op.host}:${op.port}`) : nameOf(op),
      ...this.#stepAt(op.seq),
      ...(op.type === 'call' && op.site !== undefined && { site: op.site }),
    }
    if (event.part === 'chunk') {
      if (this.#read.has(event.seq)) return
      this.#pieces.add(`${event.op} ${event.pipe ?? ''}`, event.seq, whose)
      return
    }
    const value = event.value === undefined ? undefined : wireAsJson(event.value)
    const { error } = event
    if (value === undefined && error === undefined) return
    this.#locations.push({
      ...whose,
      seq: event.seq,
      search: (matcher) => [
        ...searchJson(value, matcher, event.part),
        ...searchError(error, matcher),
      ],
    })
  }
}

/** Files that are read or written bit by bit are one content each. */
const transferKey = ({ kind, name, title }: CallEvent): string | undefined => {
  if (kind !== 'file') return undefined
  const [, way] = /\.(read|write)v?(?:Sync)?$/.exec(name) ?? []
  return way === undefined || title === undefined ? undefined : `${way} ${title}`
}
