import { defined, getPath, setPath } from '@retake/tape'
import {
  attempt,
  type NewEvent,
  type RequestEvent,
  type SocketEvent,
  type Tape,
} from '@retake/tape/format'
import { natives } from '../kernel/natives.js'
import { outsideRuns } from '../kernel/scope.js'
import type { Action, Operation, SyncCall } from '../kernel/session.js'
import { parseBody } from '../kernel/compare.js'
import { describeEvent } from '../kernel/event-text.js'
import { isModelRequest } from './free-answers.js'
import type { LiveReport, LiveRules, RefusedRequest } from './plan.js'

/**
 * Applies the rules of a plan to everything that would leave the process after the tape, whatever
 * made it live. Not covered: native add-ons, and non-HTTP bytes on connections that were already
 * open.
 */
export class AppliedLiveRules {
  readonly #connections = new Map<number, Operation>()
  /** By connection. */
  readonly #lastRequests = new Map<
    number,
    { readonly event: NewEvent<RequestEvent>; readonly body: Uint8Array | undefined }
  >()
  /** Addresses of recorded HTTP requests. Opening a connection to one of them is not an effect. */
  readonly #addresses: ReadonlySet<string>
  #requests = 0
  #edited = 0
  #refused: RefusedRequest | undefined

  constructor(
    tape: Tape,
    readonly rules: LiveRules,
    readonly options: {
      /** Ends the run: nothing may answer a refused request. */
      readonly onRefused: (refused: RefusedRequest) => void
    },
  ) {
    this.#addresses = recordedAddresses(tape)
  }

  get report(): LiveReport {
    const refused = this.#refused
    return { requests: this.#requests, edited: this.#edited, ...(refused && { refused }) }
  }

  /** Wraps an action so that the rules apply to everything it sends. */
  watched(action: Action): Action {
    const { event } = action
    if (action.decided === 'deny') return action
    const start = (operation: Operation, given?: Uint8Array): void => {
      // A restarted connection sends its last request again.
      const last = event.type === 'socket' ? this.#lastRequests.get(operation.id) : undefined
      const request = last ?? (event.type === 'request' ? { event, body: action.body } : undefined)
      if (this.#isRefused(event, given ?? action.body)) return
      if (last !== undefined && this.#isRefused(last.event, given ?? last.body)) return
      const isChanged = event.type === 'socket' && given !== undefined
      const changed =
        request === undefined || isChanged
          ? undefined
          : this.#changed(request.event, given ?? request.body)
      action.start(operation, changed ?? given)
    }
    return {
      ...action,
      start,
      ...('restart' in action && {
        restart: (...args: Parameters<NonNullable<Action['restart']>>) => {
          if (!this.#isRefused(event, action.body)) action.restart?.(...args)
        },
      }),
    }
  }

  watchedCall(call: SyncCall): SyncCall {
    return {
      ...call,
      run: (op) => {
        if (this.#isRefused(call.event, call.body))
          throw new Error('not reached: the run has ended')
        return call.run(op)
      },
    }
  }

  /** Checks HTTP/1.1 requests before their connection sends their bytes. */
  performed(operation: Operation): void {
    const { event, body } = operation.action
    if (event.type === 'socket') this.#connections.set(operation.id, operation)
    if (event.type !== 'request' || event.socket === undefined) return
    this.#lastRequests.set(event.socket, { event, body })
    const connection = this.#connections.get(event.socket)
    if (connection?.source !== 'live') return
    if (this.#isRefused(event, body)) {
      connection.source = 'edited'
      return
    }
    const changed = this.#changed(event, body)
    if (changed === undefined) return
    connection.source = 'edited'
    natives.setImmediate(() => {
      connection.source = 'live'
      outsideRuns(() => connection.action.start(connection, changed))
    })
  }

  #isRefused(event: Action['event'], body: Uint8Array | undefined): boolean {
    const { refuse, runs = [] } = this.rules
    if (refuse === undefined) return false
    if (event.type === 'call') {
      // Files and input stay on this machine.
      if (!['tool', 'process', 'database'].includes(event.kind)) return false
      if (event.kind === 'tool' && runs.includes(event.name)) return false
    } else if (event.type === 'socket') {
      if (refuse === 'effects' && this.#addresses.has(addressOf(event))) return false
    } else if (event.type === 'request') {
      const onlyReads = /^(GET|HEAD|OPTIONS)$/.test(event.method) || isModelPost(event, body)
      if (refuse === 'effects' && onlyReads) return false
    } else return false
    const site = 'site' in event ? event.site : undefined
    const address = event.type === 'call' ? undefined : targetOf(event)
    this.#refused ??= { what: describeEvent(event), ...defined({ site, address }) }
    this.options.onRefused(this.#refused)
    return true
  }

  /** The body as edited by the rules; undefined if it is unchanged. */
  #changed(event: NewEvent<RequestEvent>, body: Uint8Array | undefined): Uint8Array | undefined {
    const { edits: given = {}, system } = this.rules
    const isNothing = system === undefined && Object.keys(given).length === 0
    if (isNothing || !isModelPost(event, body)) return undefined
    this.#requests += 1
    const before = parseBody(body)
    const prompt = system === undefined ? undefined : systemPath(before)
    const edits = Object.entries({ ...given, ...(prompt && { [prompt]: system }) })
    let data = before
    // A path that does not exist changes nothing, because APIs have different fields.
    for (const [path, value] of edits)
      data = attempt(() => (getPath(data, path), setPath(data, path, value)), data)
    if (data === before) return undefined
    this.#edited += 1
    return Buffer.from(JSON.stringify(data))
  }
}

/** The `host:port` that a request or connection would reach. */
function targetOf(event: NewEvent<RequestEvent> | NewEvent<SocketEvent>): string | undefined {
  if (event.type === 'socket')
    return event.port === undefined ? undefined : `${event.host}:${event.port}`
  if (!URL.canParse(event.url)) return undefined
  const { hostname, port, protocol } = new URL(event.url)
  return `${hostname.replace(/^\[(.*)\]$/, '$1')}:${port || (protocol === 'http:' ? 80 : 443)}`
}

/** The path of the system prompt in a model request of any provider; undefined if there is none. */
function systemPath(body: unknown): string | undefined {
  if (typeof body !== 'object' || body === null) return undefined
  const fixed = [
    'system',
    'system.0.text',
    'instructions',
    'systemInstruction.parts.0.text',
    'system_instruction.parts.0.text',
  ].find((path) => typeof valueAt(body, path) === 'string')
  if (fixed !== undefined) return fixed
  for (const list of ['messages', 'input']) {
    const messages = valueAt(body, list)
    if (!Array.isArray(messages)) continue
    const index = messages.findIndex((each: unknown) =>
      ['system', 'developer'].includes(String(valueAt(each, 'role'))),
    )
    const paths = [`${list}.${index}.content`, `${list}.${index}.content.0.text`]
    const found = paths.find((path) => typeof valueAt(body, path) === 'string')
    if (found !== undefined) return found
  }
  return undefined
}

const valueAt = (data: unknown, path: string): unknown => attempt(() => getPath(data, path))

const isModelPost = (event: NewEvent<RequestEvent>, body: Uint8Array | undefined): boolean =>
  event.method === 'POST' && isModelRequest(event, body)

function recordedAddresses(tape: Tape): ReadonlySet<string> {
  const addresses = new Set<string>()
  for (const event of tape.events())
    if (event.type === 'request' && event.socket !== undefined) {
      const socket = tape.event(event.socket)
      if (socket.type === 'socket') addresses.add(addressOf(socket))
    }
  return addresses
}

const addressOf = ({
  kind,
  host,
  port,
  path,
}: Pick<SocketEvent, 'kind' | 'host' | 'port' | 'path'>): string =>
  `${kind} ${host} ${port} ${path}`
