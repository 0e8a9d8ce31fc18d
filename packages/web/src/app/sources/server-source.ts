import type { RunSource } from '../../model/run-source.js'
import type { SearchProgress } from '../../model/run-parts.js'
import type { BodySide, StepDetail } from '../../model/step-detail.js'
import type { RowMessage } from '../../model/step-rows.js'
import { client } from './client.js'
import { readLines } from './read-lines.js'

const api = client.runs[':run']

/** A run that a server answers for. */
export class ServerSource implements RunSource {
  readonly #run: string

  constructor(run: string) {
    this.#run = run
  }

  async head() {
    return (await (await api.$get({ param: this.#param })).json()).head
  }

  async *rows({ from = 0, signal }: { from?: number; signal?: AbortSignal } = {}) {
    const query = { from: String(from) }
    const response = await api.rows.$get({ param: this.#param, query } as never, {
      init: { signal },
    })
    yield* readLines<RowMessage>(response)
  }

  async step(label: string, { messagesFrom }: { messagesFrom?: number } = {}) {
    const query = messagesFrom === undefined ? {} : { messagesFrom: String(messagesFrom) }
    const response = await api.steps[':step'].$get({
      param: this.#stepParam(label),
      query,
    } as never)
    // JSON has no undefined: fields that are missing are those.
    return (await response.json()).step as unknown as StepDetail | undefined
  }

  async stream(label: string) {
    const response = await api.steps[':step'].stream.$get({ param: this.#stepParam(label) })
    return (await response.json()).stream
  }

  async body(label: string, side: BodySide) {
    const param = { ...this.#stepParam(label), side }
    const response = await api.steps[':step'].body[':side'].$get({ param })
    return new Uint8Array(await response.arrayBuffer())
  }

  async state(label: string) {
    const response = await api.steps[':step'].state.$get({ param: this.#stepParam(label) })
    return (await response.json()).state as never
  }

  async console() {
    return (await api.console.$get({ param: this.#param })).json()
  }

  async files() {
    return (await api.files.$get({ param: this.#param })).json() as never
  }

  async events(from: number, to: number) {
    const query = { from: String(from), to: String(to) }
    return (await api.events.$get({ param: this.#param, query } as never)).json() as never
  }

  async event(seq: number) {
    const param = { ...this.#param, seq: String(seq) }
    return (await (await api.events[':seq'].$get({ param })).json()).event
  }

  async *search(text: string, signal: AbortSignal) {
    const query = { text }
    const response = await api.search.$get({ param: this.#param, query } as never, {
      init: { signal },
    })
    yield* readLines<SearchProgress>(response)
  }

  async source(site: string) {
    const query = { site }
    return (await (await api.source.$get({ param: this.#param, query } as never)).json()).excerpt
  }

  async exportJsonl() {
    return (await api.export.$get({ param: this.#param })).blob()
  }

  get #param() {
    return { run: this.#run }
  }

  #stepParam(step: string) {
    return { run: this.#run, step }
  }
}
