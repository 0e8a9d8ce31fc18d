import type { DeliveryEvent, RequestEvent, SocketEvent, Tape } from '@retake/tape'
import type { RecordedAnswers } from '../answers/recorded-answers.js'
import type { Operation } from '../sessions/session.js'
import type { RecordedStep } from './recorded-step.js'

type Target = Pick<SocketEvent, 'kind' | 'host' | 'port' | 'path'>

/**
 * The connections of a fork. One to where the recording sent requests is opened from
 * the tape; there is a real one behind it only when something is really asked on it.
 * All others are real: what goes over them is no step.
 */
export class KeptConnections {
  readonly #open = new Map<number, Operation>()
  /** By address, the delivery that told the agent that it is connected. */
  readonly #connects = new Map<string, number>()

  constructor(
    readonly tape: Tape,
    readonly recorded: RecordedAnswers,
    steps: Iterable<RecordedStep>,
  ) {
    const asked = new Set<string>()
    const upgraded = new Set<string>()
    for (const { event } of steps) {
      if (event.type !== 'request') continue
      const key = this.#keyFor(event)
      if (key !== undefined) (isUpgrade(event) ? upgraded : asked).add(key)
    }
    for (const { event, parts } of recorded.operations) {
      if (event.type !== 'socket') continue
      const key = keyOf(event)
      const connect = parts.find((seq) => isPart(recorded.delivery(seq), 'connect'))
      if (connect !== undefined && asked.has(key) && !upgraded.has(key))
        this.#connects.set(key, connect)
    }
  }

  /** The address of the connection that a request went over; `fetch` has none that the agent sees. */
  #keyFor({ socket, seam, url }: RequestEvent): string | undefined {
    if (seam === 'http2') {
      const { protocol, hostname: host, port } = new URL(url)
      const isTls = protocol === 'https:'
      return keyOf({ kind: isTls ? 'tls' : 'tcp', host, port: Number(port || (isTls ? 443 : 80)) })
    }
    const event = socket === undefined ? undefined : this.tape.event(socket)
    return event?.type === 'socket' ? keyOf(event) : undefined
  }

  add(connection: Operation): void {
    this.#open.set(connection.id, connection)
  }

  get(op: number | undefined): Operation | undefined {
    return op === undefined ? undefined : this.#open.get(op)
  }

  /** The recorded delivery that opens a connection to there; undefined where only a real one will do. */
  connectFor(target: Target): number | undefined {
    return this.#connects.get(keyOf(target))
  }

  /** Parts of an answer. The end of its connection is one only where nothing else says that it is complete. */
  answerParts(parts: readonly number[]): readonly number[] {
    const first = parts.find((seq) => isPart(this.recorded.delivery(seq), 'chunk'))
    if (first === undefined) return parts
    const [head = ''] = Buffer.from(this.tape.body(first)).toString('latin1').split('\r\n\r\n')
    const saysLength = /^(content-length|transfer-encoding):|^HTTP\/1\.\d (204|304)/im.test(head)
    if (!saysLength || /^connection:\s*close/im.test(head)) return parts
    return parts.filter((seq) => {
      const event = this.recorded.delivery(seq)
      return !isPart(event, 'end') && !isPart(event, 'close')
    })
  }
}

const isPart = (event: DeliveryEvent, part: string): boolean =>
  event.type === 'deliver' && event.part === part

/** Whether a request asks for something else than an answer: a socket of the web, a tunnel. */
export const isUpgrade = ({ method, headers }: RequestEvent): boolean =>
  method === 'CONNECT' || headers.some(([name]) => name.toLowerCase() === 'upgrade')

const keyOf = ({ kind, host, port, path }: Target): string => `${kind} ${host} ${port} ${path}`
