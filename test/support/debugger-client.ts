import { once } from 'node:events'
import WebSocket from 'ws'

interface Frame {
  readonly callFrameId: string
  readonly functionName: string
  readonly location: { readonly scriptId: string; readonly lineNumber: number }
}
export interface Paused {
  readonly callFrames: readonly [Frame, ...Frame[]]
}

/** A debugger as Chrome or VS Code is one: the DevTools protocol over a WebSocket, and nothing else. */
export class DebuggerClient {
  readonly closed: Promise<unknown>
  readonly #socket: WebSocket
  readonly #waiting = new Map<number, (message: never) => void>()
  readonly #paused: Paused[] = []
  #onPaused: (() => void) | undefined
  #lastId = 0

  private constructor(socket: WebSocket) {
    this.#socket = socket
    this.closed = once(socket, 'close')
    socket.on('message', (data: Buffer) => {
      const message = JSON.parse(data.toString()) as {
        id?: number
        method?: string
        params?: unknown
      }
      if (message.id !== undefined) this.#waiting.get(message.id)?.(message as never)
      else if (message.method === 'Debugger.paused') {
        this.#paused.push(message.params as Paused)
        this.#onPaused?.()
      }
    })
  }

  /** Attaches the way real debuggers do. */
  static async attach(url: string): Promise<DebuggerClient> {
    const socket = new WebSocket(url)
    await once(socket, 'open')
    const client = new DebuggerClient(socket)
    await client.post('Runtime.enable')
    await client.post('Debugger.enable')
    await client.post('Runtime.runIfWaitingForDebugger')
    return client
  }

  async post(method: string, params: object = {}): Promise<Record<string, unknown>> {
    const id = ++this.#lastId
    const answered = new Promise<{ result: Record<string, unknown> }>((resolve) =>
      this.#waiting.set(id, resolve),
    )
    this.#socket.send(JSON.stringify({ id, method, params }))
    return (await answered).result
  }

  async paused(): Promise<Paused> {
    while (this.#paused.length === 0)
      await new Promise<void>((resolve) => (this.#onPaused = resolve))
    return this.#paused.shift() as Paused
  }

  /** Value of an expression in a frame, as JSON. */
  async evaluate({ callFrameId }: Frame, expression: string): Promise<unknown> {
    const params = { callFrameId, expression, returnByValue: true }
    const answer = await this.post('Debugger.evaluateOnCallFrame', params)
    return (answer['result'] as { value?: unknown }).value
  }
}
