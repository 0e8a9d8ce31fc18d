import type { RowMessage } from '@retake/tape/present'
import type { RunBlame } from '../../model/run-blame.js'
import type { RunHead } from '../../model/run-head.js'
import type { RunSource } from '../../model/run-source.js'
import type { EventRow, FileTouch, SearchProgress } from '../../model/run-parts.js'
import type { StateView } from '../../model/state-view.js'
import type { BodySide, StepDetail } from '../../model/step-detail.js'
import { client } from './client.js'
import { readAnswer } from './read-answer.js'
import { readLines } from './read-lines.js'

const api = client.runs[':run']

export async function readHead(run: string): Promise<RunHead> {
  return (await (await api.$get({ param: { run } })).json()).head
}

/** A run that a server answers for. */
export class ServerSource implements RunSource {
  readonly #run: string
  readonly #seen: (head: RunHead) => void

  /** `seen` is told each head that was read. */
  constructor(run: string, seen: (head: RunHead) => void = () => {}) {
    this.#run = run
    this.#seen = seen
  }

  async head() {
    const head = await readHead(this.#run)
    this.#seen(head)
    return head
  }

  async *rows({ from = 0, signal }: { from?: number; signal?: AbortSignal } = {}) {
    const query = { from: String(from) }
    const response = await api.rows.$get(
      { param: this.#param, query },
      {
        init: { signal },
      },
    )
    yield* readLines<RowMessage>(response)
  }

  async step(
    label: string,
    { messagesFrom, eventsFrom }: { messagesFrom?: number; eventsFrom?: number } = {},
  ) {
    const query = { messagesFrom, eventsFrom }
    const response = await api.steps[':step'].$get({ param: this.#stepParam(label), query })
    return (await readAnswer<{ step: StepDetail | undefined }>(response)).step
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
    return (await readAnswer<{ state: StateView | undefined }>(response)).state
  }

  async console() {
    return (await api.console.$get({ param: this.#param })).json()
  }

  async files() {
    return readAnswer<readonly FileTouch[]>(await api.files.$get({ param: this.#param }))
  }

  async events(from: number, to: number) {
    const query = { from: String(from), to: String(to) }
    return readAnswer<readonly EventRow[]>(await api.events.$get({ param: this.#param, query }))
  }

  async event(seq: number) {
    const param = { ...this.#param, seq: String(seq) }
    return (await (await api.events[':seq'].$get({ param })).json()).event
  }

  async *search(text: string, signal: AbortSignal) {
    const query = { text }
    const response = await api.search.$get(
      { param: this.#param, query },
      {
        init: { signal },
      },
    )
    yield* readLines<SearchProgress>(response)
  }

  async source(site: string) {
    const query = { site }
    return (await (await api.source.$get({ param: this.#param, query })).json()).excerpt
  }

  async blame() {
    const response = await api.blame.$get({ param: this.#param })
    return (await readAnswer<{ blame: RunBlame | undefined }>(response)).blame
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
