import { once } from 'node:events'
import WebSocket from 'ws'

/**
 * @typedef {object} Frame
 * @property {string} callFrameId
 * @property {string} functionName
 */

/** A debugger as Chrome or VS Code is one: the DevTools protocol over a WebSocket, and nothing else. */
export class DebuggerClient {
  /** @type {Promise<unknown>} Resolves when the program has let the debugger go. */
  closed
  #socket
  #waiting = new Map()
  #paused = []
  #onPaused
  #lastId = 0

  /** @param {WebSocket} socket */
  constructor(socket) {
    this.#socket = socket
    this.closed = once(socket, 'close')
    socket.on('message', (/** @type {Buffer} */ data) => {
      const { id, method, params, result } = JSON.parse(data.toString())
      if (id !== undefined) this.#waiting.get(id)?.(result)
      else if (method === 'Debugger.paused') {
        this.#paused.push(params)
        this.#onPaused?.()
      }
    })
  }

  /**
   * Attaches the way real debuggers do.
   *
   * @param {string} url
   */
  static async attach(url) {
    const socket = new WebSocket(url)
    await once(socket, 'open')
    const client = new DebuggerClient(socket)
    await client.post('Runtime.enable')
    await client.post('Debugger.enable')
    await client.post('Runtime.runIfWaitingForDebugger')
    return client
  }

  /**
   * @param {string} method
   * @param {object} [params]
   * @returns {Promise<any>}
   */
  post(method, params = {}) {
    const id = ++this.#lastId
    this.#socket.send(JSON.stringify({ id, method, params }))
    return new Promise((resolve) => this.#waiting.set(id, resolve))
  }

  /** @returns {Promise<{ callFrames: [Frame, ...Frame[]] }>} */
  async paused() {
    while (this.#paused.length === 0) await new Promise((resolve) => (this.#onPaused = resolve))
    return this.#paused.shift()
  }

  /**
   * Value of an expression in a frame, as JSON.
   *
   * @param {Frame} frame
   * @param {string} expression
   * @returns {Promise<unknown>}
   */
  async evaluate({ callFrameId }, expression) {
    const params = { callFrameId, expression, returnByValue: true }
    const { result } = await this.post('Debugger.evaluateOnCallFrame', params)
    return result.value
  }
}
