import { parseJson, recordOf } from '@retake/tape/format'
import type { HandshakeMessage } from '../../kernel/session.js'

const NEWLINE = 10

/**
 * Repeats a recorded handshake with a new process, message by message. Its answers and other output
 * during the handshake are hidden from the agent, which has already seen them.
 */
export class RepeatedHandshake {
  readonly #messages: HandshakeMessage[]
  #expected: string | number | undefined
  #buffer: Buffer = Buffer.alloc(0)
  #isOver = false

  constructor(
    messages: readonly HandshakeMessage[],
    readonly write: (line: string) => void,
    /** Called at the end, with the output of the process after the handshake. */
    readonly onOver: (rest: Buffer) => void,
  ) {
    this.#messages = [...messages]
  }

  begin(): void {
    this.#next()
  }

  /**
   * Takes output of the process; false if the handshake is over and the output is for the agent.
   */
  take(data: Buffer): boolean {
    if (this.#isOver) return false
    this.#buffer = Buffer.concat([this.#buffer, data])
    for (let end = this.#buffer.indexOf(NEWLINE); end >= 0; end = this.#buffer.indexOf(NEWLINE)) {
      const { id, method } = recordOf(parseJson(this.#buffer.toString('utf8', 0, end)))
      this.#buffer = this.#buffer.subarray(end + 1)
      if ((method === undefined ? id : undefined) === this.#expected) this.#next()
      if (this.#isOver) break
    }
    return true
  }

  #next(): void {
    for (;;) {
      const message = this.#messages.shift()
      if (message === undefined) break
      this.#expected = message.id
      this.write(`${message.line}\n`)
      if (message.id !== undefined) return
    }
    this.#isOver = true
    this.onOver(this.#buffer)
  }
}
