import type { Duplex } from 'node:stream'
import { createInterface } from 'node:readline'
import { SecretMask } from '../../secrets/secrets.js'
import { withoutHidden } from '../../secrets/hidden-values.js'
import { errors } from '../../errors.js'

type Listener = (params: never) => void
interface Waiting {
  readonly method: string
  readonly resolve: (result: never) => void
  readonly reject: (error: Error) => void
}
interface Incoming {
  readonly id?: number
  readonly result?: unknown
  readonly error?: { readonly message?: string }
  readonly method?: string
  readonly params?: unknown
}

const SCRIPT_PARSED = '{"method":"Debugger.scriptParsed"'

/**
 * The controller's end of the pipe: a client of the DevTools protocol with one JSON message per
 * line. The program may have secrets in memory; its answers are shown and stored, so they are
 * masked here.
 */
export class InspectorLink {
  readonly #pipe: Duplex
  readonly #waiting = new Map<number, Waiting>()
  readonly #listeners = new Map<string, Listener>()
  readonly #secrets = new SecretMask()
  /** Resolves when the process has closed its end and every message has been handled. */
  readonly drained: Promise<void>
  #lastId = 0
  #isClosed = false

  constructor(pipe: Duplex) {
    this.#pipe = pipe
    this.#secrets.addEnvironment(process.env)
    this.on('Retake.secret', ({ value, placeholder }: { value: string; placeholder: string }) =>
      this.#secrets.hideAs(value, placeholder),
    )
    // The process may be killed while the pipe is in use.
    pipe.on('error', () => {})
    this.drained = new Promise((resolve) => {
      createInterface({ input: pipe, crlfDelay: Infinity })
        .on('line', (line) => line !== '' && this.#take(line))
        .on('error', () => {})
        .on('close', resolve)
      pipe.on('close', resolve)
    })
    pipe.on('close', () => {
      this.#isClosed = true
      for (const { method, reject } of this.#waiting.values()) reject(errors.PROBE_GONE(method))
      this.#waiting.clear()
    })
  }

  post<T = unknown>(method: string, params: object = {}): Promise<T> {
    if (this.#isClosed) return Promise.reject(errors.PROBE_GONE(method))
    const id = ++this.#lastId
    const answer = new Promise<T>((resolve, reject) => {
      this.#waiting.set(id, { method, resolve, reject })
    })
    this.#pipe.write(`${JSON.stringify({ id, method, params })}\n`)
    return answer
  }

  /** Sends a message without expecting an answer; it may be the last one that the process receives. */
  notify(method: string): void {
    this.post(method).catch(() => {})
  }

  /** One listener per method. */
  on(method: string, listener: Listener): void {
    this.#listeners.set(method, listener)
  }

  close(): void {
    this.#pipe.destroy()
  }

  #take(line: string): void {
    // Source maps and source texts are not masked: a bundle has megabytes of them, which would take
    // seconds. Only their names and positions are used, which masks would move.
    const [, answeredId] = /^\{"id":(\d+)[,}]/.exec(line) ?? []
    const answered = this.#waiting.get(Number(answeredId))?.method
    const isSource = line.startsWith(SCRIPT_PARSED) || answered === 'Debugger.getScriptSource'
    const text = isSource ? line : withoutHidden(this.#secrets.text(line))
    const { id, result, error, method, params } = JSON.parse(text) as Incoming
    if (id === undefined) {
      this.#listeners.get(method ?? '')?.(params as never)
      return
    }
    const waiting = this.#waiting.get(id)
    this.#waiting.delete(id)
    if (error) waiting?.reject(new InspectorRefused(waiting.method, error.message ?? ''))
    else waiting?.resolve(result as never)
  }
}

export class InspectorRefused extends Error {
  override readonly name = 'InspectorRefused'
  constructor(
    readonly method: string,
    readonly reason: string,
  ) {
    super(`${method}: ${reason}`)
  }
}
