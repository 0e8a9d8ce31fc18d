import {
  readStdioExchange,
  type RpcId,
  type Step,
  type StdioRequest,
  type StdioSession,
} from '@retake/tape'
import { isDelivery, type Tape } from '@retake/tape/format'
import type { HandshakeMessage } from '../kernel/session.js'
import { outsideRuns } from '../kernel/scope.js'
import type { Operation, Session } from '../kernel/session.js'
import { INITIALIZED, isSearchedMethod, readSession, STATEFUL_METHODS } from './mcp-child.js'
import { parseBody } from '../kernel/compare.js'
import { type AnswerPart, recordedPart } from '../kernel/source.js'

/** A part of an answer with its position in the recorded order. */
type OrderedPart = AnswerPart & { readonly order: number }

export interface PinnedServersOptions {
  readonly owner: Pick<Session, 'secrets'>
  readonly isPinned: (step: Step) => boolean
  /** The planned answer to a free step: the whole message, or its result. */
  readonly planned: (step: Step) => unknown
  /** True if the tool must not run. */
  readonly blocks: (tool: string) => boolean
  /** Called when a request was matched; `isSame` unless its parameters differ. */
  readonly onMatched: (step: Step, seq: number, isSame: boolean) => void
  /** True if the recorded answer of a step also fits other arguments of its tool. */
  readonly fitsAny: (step: Step, tool: string) => boolean
  readonly onLive: () => void
  /** Ends the fork: nothing can answer. */
  readonly onRefused: (what: string) => void
  readonly give: (operation: Operation, parts: readonly OrderedPart[]) => void
}

/**
 * MCP servers on pipes in a blame fork or a rerun. Their requests are answered from the tape one by one, so that
 * their tools can be pinned or free like all others. The first live request starts a real server,
 * which gets the agent's handshake and only the live requests. Not promised: notifications of a
 * server, such as progress, only come from a real server.
 */
export class PinnedServers {
  readonly #byOperation = new Map<Operation, ServedServer>()

  constructor(
    readonly tape: Tape,
    readonly steps: readonly Step[],
    readonly options: PinnedServersOptions,
  ) {}

  /** Serves the process that was started as event `seq`; false if it needs a real process. */
  start(operation: Operation, seq: number): boolean {
    const session = readSession(this.tape, seq)
    if (session === undefined || session.requests.some(({ askedBy }) => askedBy === 'server'))
      return false
    operation.source = 'tape'
    const server = new ServedServer(this, { operation, session, seq })
    this.#byOperation.set(operation, server)
    this.options.give(operation, server.parts(['spawn', 'error']))
    return true
  }

  /** Called when the agent writes masked bytes to a process, as event `seq`. */
  wrote(operation: Operation, bytes: Uint8Array, seq: number): void {
    this.#byOperation.get(operation)?.wrote(bytes, seq)
  }

  /** Ends servers whose input the agent has closed. */
  proceed(): void {
    for (const server of this.#byOperation.values()) server.endAfterInput()
  }
}

interface RpcMessage {
  readonly id?: RpcId
  readonly method?: string
  readonly params?: unknown
}

class ServedServer {
  readonly #handshake: HandshakeMessage[] = []
  readonly #used = new Set<StdioRequest>()
  #rest = ''
  #isReal = false
  #isOver = false

  constructor(
    readonly servers: PinnedServers,
    readonly served: {
      readonly operation: Operation
      readonly session: StdioSession
      readonly seq: number
    },
  ) {}

  wrote(bytes: Uint8Array, seq: number): void {
    const lines = (this.#rest + Buffer.from(bytes).toString('utf8')).split('\n')
    this.#rest = lines.pop() ?? ''
    const isLive = lines
      .filter((line) => line.trim() !== '')
      .map((line) => this.#isLive(line, seq))
      .includes(true)
    // The process boundary reads this to decide if it forwards the bytes to a real server.
    this.served.operation.source = isLive ? 'live' : 'tape'
  }

  endAfterInput(): void {
    const { operation } = this.served
    if (!operation.hasInputEnded || this.#isReal || this.#isOver) return
    this.#isOver = true
    this.servers.options.give(operation, this.parts(['end', 'exit', 'close']))
  }

  /** True if a line goes to a real server. */
  #isLive(line: string, seq: number): boolean {
    const message = (parseBody(Buffer.from(line)) ?? {}) as RpcMessage
    const { id, method } = message
    if (method === undefined || id === undefined) {
      if (method === INITIALIZED) this.#handshake.push({ line: this.#revealed(line) })
      return this.#isReal
    }
    const isLive = this.#answer({ ...message, id, method }, seq)
    if (STATEFUL_METHODS.has(method)) this.#handshake.push({ line: this.#revealed(line), id })
    return isLive
  }

  /** Answers a request from the tape or as planned; true if it is live instead. */
  #answer(
    message: RpcMessage & { readonly id: RpcId; readonly method: string },
    seq: number,
  ): boolean {
    const { options, steps } = this.servers
    const found = this.#take(message)
    const step = found && steps.find((one) => one.seq === found.request.start.seq)
    if (step !== undefined) options.onMatched(step, seq, found?.isSame === true)
    const isServed =
      step === undefined || !isSearchedMethod(message.method) || options.isPinned(step)
    if (found !== undefined && isServed) return this.#give(message.id, found.request)
    const planned = step && options.planned(step)
    if (found !== undefined && planned !== undefined)
      return this.#give(message.id, found.request, planned)
    const tool = toolIn(message)
    if (options.blocks(tool)) {
      const same =
        this.#identical(message, [...this.#used]) ??
        (step !== undefined && options.fitsAny(step, tool) ? found?.request : undefined)
      if (same === undefined) options.onRefused(tool)
      else this.#give(message.id, same)
      return false
    }
    options.onLive()
    if (!this.#isReal) {
      this.#isReal = true
      const { operation } = this.served
      outsideRuns(() => operation.action.restart?.(operation, this.#handshake, []))
    }
    return true
  }

  #give(id: RpcId, request: StdioRequest, planned?: unknown): false {
    const { tape, options } = this.servers
    const { operation, session } = this.served
    const { result, error } = readStdioExchange(tape, request, session)
    const said =
      planned === undefined ? (error === undefined ? { result } : { error }) : messageOf(planned)
    const order = request.answered?.last.seq ?? 0
    const event = { type: 'deliver', part: 'chunk', pipe: 1 } as const
    const body = Buffer.from(`${JSON.stringify({ jsonrpc: '2.0', id, ...said })}\n`)
    options.give(operation, [
      { event: planned === undefined ? { ...event, from: order } : event, body, order },
    ])
    return false
  }

  /**
   * The recorded counterpart of a message: an identical request, otherwise the next one with the
   * same method and tool.
   */
  #take(message: RpcMessage): { request: StdioRequest; isSame: boolean } | undefined {
    const unused = this.served.session.requests.filter(
      (request) => !this.#used.has(request) && request.answered !== undefined,
    )
    const same = this.#identical(message, unused)
    const request =
      same ??
      unused.find(
        (one) =>
          one.method === message.method &&
          toolIn({ method: one.method, params: this.#paramsOf(one) }) === toolIn(message),
      )
    if (request === undefined) return undefined
    this.#used.add(request)
    return { request, isSame: same !== undefined }
  }

  #identical(message: RpcMessage, among: readonly StdioRequest[]): StdioRequest | undefined {
    const text = JSON.stringify(plainParams(message.params))
    return among.find(
      (one) =>
        one.method === message.method && JSON.stringify(plainParams(this.#paramsOf(one))) === text,
    )
  }

  #paramsOf(request: StdioRequest): unknown {
    return readStdioExchange(this.servers.tape, request, this.served.session).params
  }

  parts(names: readonly string[]): OrderedPart[] {
    const { tape } = this.servers
    const parts: OrderedPart[] = []
    for (const event of tape.events(this.served.seq))
      if (
        isDelivery(event) &&
        event.op === this.served.seq &&
        'part' in event &&
        names.includes(event.part)
      )
        parts.push({
          ...recordedPart(tape, event, this.servers.options.owner.secrets),
          order: event.seq,
        })
    return parts
  }

  #revealed(line: string): string {
    return this.servers.options.owner.secrets.reveal(line)
  }
}

const toolIn = ({ method = '', params }: RpcMessage): string => {
  const { name, uri } = (params ?? {}) as { name?: unknown; uri?: unknown }
  return typeof name === 'string' ? name : typeof uri === 'string' ? uri : method
}

/** Parameters without the progress token, which counts requests. */
function plainParams(params: unknown): unknown {
  if (typeof params !== 'object' || params === null) return params
  const { _meta: _, ...rest } = params as Record<string, unknown>
  return rest
}

/** Accepts a whole message, or only its result. */
function messageOf(planned: unknown): object {
  const isMessage =
    typeof planned === 'object' && planned !== null && ('result' in planned || 'error' in planned)
  if (!isMessage) return { result: planned }
  const { result, error } = planned as { result?: unknown; error?: unknown }
  return error === undefined ? { result } : { error }
}
