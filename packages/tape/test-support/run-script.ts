import { encodeBody, readRun, toWire } from '@retake/tape'
import type {
  CallKind,
  NewEvent,
  RunDetails,
  RunEvent,
  RunView,
  TapeEvent,
  TapeLike,
} from '@retake/tape'

export const CHAT = 'https://api.example.com/v1/chat/completions'

interface ChatCall {
  readonly id?: string
  readonly name: string
  readonly args: unknown
}

/** Writes a run by hand, a step at a time, for tests of what can be said about runs. */
export class RunScript implements TapeLike {
  status: TapeLike['status'] = 'sealed'
  details: RunDetails = {}
  readonly #events: TapeEvent[] = []
  readonly #bodies: Uint8Array[] = []
  #now = 0

  constructor(run: Partial<RunEvent> = {}) {
    this.add({
      type: 'run',
      format: 1,
      id: 'run-a',
      name: 'refund',
      startedAt: 1_760_000_000_000,
      scope: 'process',
      node: 'v20.20.2',
      ...run,
    })
  }

  /** Appends an event one millisecond after the last; gives its seq. */
  add(event: NewEvent, body: Uint8Array | string = new Uint8Array()): number {
    const seq = this.#events.length
    this.#events.push({ ...event, seq, at: this.#now++ } as TapeEvent)
    this.#bodies.push(typeof body === 'string' ? new TextEncoder().encode(body) : body)
    return seq
  }

  wait(ms: number): this {
    this.#now += ms
    return this
  }

  /** A chat exchange: the conversation that is sent, and what the model says to it. */
  chat(
    messages: readonly object[],
    answer: string | readonly ChatCall[],
    { settings = {}, url = CHAT, tokens = 10 } = {},
  ): this {
    const message =
      typeof answer === 'string'
        ? { role: 'assistant', content: answer }
        : { role: 'assistant', content: null, tool_calls: answer.map(callJson) }
    const body = JSON.stringify({ model: 'gpt-5-mini', ...settings, messages })
    return this.exchange(url, body, [
      JSON.stringify({
        object: 'chat.completion',
        model: 'gpt-5-mini',
        choices: [{ index: 0, message, finish_reason: 'stop' }],
        usage: { prompt_tokens: 100, completion_tokens: tokens, total_tokens: 100 + tokens },
      }),
    ])
  }

  /** A chat exchange whose answer is streamed in these pieces. */
  streamedChat(messages: readonly object[], pieces: readonly string[]): this {
    const event = (content: string): string =>
      `data: ${JSON.stringify({ id: 'chatcmpl-1', model: 'gpt-5-mini', choices: [{ index: 0, delta: { content } }] })}\n\n`
    const body = JSON.stringify({ model: 'gpt-5-mini', stream: true, messages })
    return this.exchange(
      CHAT,
      body,
      [...pieces.map(event), 'data: [DONE]\n\n'],
      'text/event-stream',
    )
  }

  /** Any exchange through `fetch`, its answer in pieces. */
  exchange(
    url: string,
    body: string | Uint8Array,
    pieces: readonly (string | Uint8Array)[],
    type = 'application/json',
  ): this {
    const op = this.add(
      { type: 'request', seam: 'fetch', method: 'POST', url, headers: [], site: '/agent.ts:1:1' },
      body,
    )
    const headers = [['content-type', type]] as const
    this.add({ type: 'response', op, status: 200, statusText: 'OK', headers })
    for (const piece of pieces) this.add({ type: 'deliver', op, part: 'chunk' }, piece)
    this.add({ type: 'deliver', op, part: 'end' })
    return this
  }

  tool(name: string, args: unknown, result: unknown): this {
    return this.call({ kind: 'tool', name, args, result })
  }

  /** A file that is read at once. */
  file(path: string, content: string | Uint8Array): this {
    return this.call({ kind: 'file', name: 'fs.readFile', title: path, result: content })
  }

  call(call: {
    kind: CallKind
    name: string
    title?: string
    args?: unknown
    result?: unknown
  }): this {
    const { kind, name, title, args, result } = call
    const asked = encoded(args)
    const told = encoded(result instanceof Uint8Array ? Buffer.from(result) : result)
    const op = this.add(
      {
        type: 'call',
        kind,
        name,
        ...(title !== undefined && { title }),
        ...(asked !== undefined && { as: asked.as }),
        site: '/agent.ts:2:2',
      },
      asked?.body,
    )
    this.add({ type: 'result', op, ...(told !== undefined && { as: told.as }) }, told?.body)
    return this
  }

  draw(kind: string, value: unknown): this {
    this.add({ type: 'draw', kind, value: toWire(value) })
    return this
  }

  print(text: string, stream: 'stdout' | 'stderr' = 'stdout'): this {
    this.add({ type: 'output', stream }, text)
    return this
  }

  end(exitCode = 0): this {
    this.add({ type: 'end', exitCode })
    return this
  }

  view(): RunView {
    return readRun(this)
  }

  get run(): RunEvent {
    return this.#events[0] as RunEvent
  }

  get count(): number {
    return this.#events.length
  }

  event(seq: number): TapeEvent {
    return this.#events[seq] as TapeEvent
  }

  events(from = 0, to = this.count): Iterable<TapeEvent> {
    return this.#events.slice(from, to)
  }

  body(seq: number): Uint8Array {
    return this.#bodies[seq] ?? new Uint8Array()
  }
}

const callJson = ({ id = 'call_1', name, args }: ChatCall): object => ({
  id,
  type: 'function',
  function: { name, arguments: JSON.stringify(args) },
})

const encoded = (value: unknown): ReturnType<typeof encodeBody> | undefined =>
  value === undefined ? undefined : encodeBody(value)

export const user = (content: string): object => ({ role: 'user', content })
export const says = (content: string): object => ({ role: 'assistant', content })
export const asks = (...calls: readonly ChatCall[]): object => ({
  role: 'assistant',
  content: null,
  tool_calls: calls.map(callJson),
})
export const told = (content: string, id = 'call_1'): object => ({
  role: 'tool',
  tool_call_id: id,
  content,
})
