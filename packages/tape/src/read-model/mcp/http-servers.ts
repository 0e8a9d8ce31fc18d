import type { RequestEvent } from '../../format/events.js'
import { ExchangeReader } from '../exchange.js'
import type { StepContext } from '../step-base.js'
import { framesOf, httpMessage } from './http-message.js'
import { idKey, type RpcId } from './json-rpc.js'
import { serverInfoIn } from './mcp-exchange.js'

type Sent = { readonly event: RequestEvent; readonly reader: ExchangeReader }

/** What the exchanges with one address tell about each other: who answers there, and what it asked. */
export class HttpServers {
  readonly #context: StepContext
  readonly #names = new Map<string, string | undefined>()

  constructor(context: StepContext) {
    this.#context = context
  }

  /** What the server at an address calls itself. */
  nameAt(url: string): string | undefined {
    if (!this.#names.has(url)) this.#names.set(url, this.#findName(url))
    return this.#names.get(url)
  }

  /** A request that the server made on one of its streams before an event. */
  askedAt(
    url: string,
    id: RpcId,
    before: number,
  ): { readonly method: string; readonly params: unknown } | undefined {
    for (const { event, reader } of this.#sentTo(url).toReversed()) {
      if (event.seq >= before) continue
      const found = framesOf(reader.read().response).find(
        (frame) => frame.kind === 'request' && idKey(frame.id) === idKey(id),
      )
      if (found?.kind === 'request') return found
    }
    return undefined
  }

  #findName(url: string): string | undefined {
    for (const { event, reader } of this.#sentTo(url)) {
      const message = httpMessage(event, () => reader.requestText())
      if (message?.kind !== 'request') continue
      for (const frame of framesOf(reader.read().response)) {
        const info = frame.kind === 'answer' ? serverInfoIn(frame.result) : undefined
        if (info !== undefined) return info.name
      }
      // The handshake comes first; the newer protocol says it in every answer.
      if (message.method === 'tools/call') return undefined
    }
    return undefined
  }

  #sentTo(url: string): Sent[] {
    const { tape, index } = this.#context
    return index.steps
      .filter((step) => 'event' in step)
      .filter(({ event }) => event.type === 'request' && event.url === url)
      .map((op) => {
        const { event } = op as typeof op & { readonly event: RequestEvent }
        return { event, reader: new ExchangeReader(tape, { ...op, event }, index, this.#context) }
      })
  }
}
