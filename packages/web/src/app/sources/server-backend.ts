import type { RowMessage } from '@retake/tape/present'
import type { ChangeLine } from '../../api/api.js'
import type { RepositoryChange } from '../../api/run-repository.js'
import type { RunBlame } from '../../model/run-blame.js'
import type { RunHead } from '../../model/run-head.js'
import type { EventRow, FileTouch, RunSource, SearchProgress } from '../../model/run-source.js'
import type { StateView } from '../../model/state-view.js'
import type { BodySide, StepDetail } from '../../model/step-detail.js'
import { client, readAnswer, readLines } from './client.js'
import { ServerConnection } from './server-connection.js'
import { BackendError } from './backend-error.js'
import { makeLiveActions } from './live-actions.js'
import type { ViewerBackend } from './backend.js'

type Seen = Pick<RunHead, 'events' | 'status' | 'startedAt'>

const SEEN_MAX = 8

/** Last known states of runs, to find out what a page has missed. */
class SeenRuns {
  /** Least recently used first. */
  readonly #seen = new Map<string, Seen>()

  note(run: string, { events, status, startedAt }: RunHead): void {
    this.#seen.delete(run)
    this.#seen.set(run, { events, status, startedAt })
    if (this.#seen.size > SEEN_MAX) this.#seen.delete([...this.#seen.keys()][0] ?? '')
  }

  forget(run: string): void {
    this.#seen.delete(run)
  }

  /** Reports the runs that changed, or all of them, and those that are gone. */
  async notifyChanged(
    request: (run: string) => Promise<RunHead>,
    notify: (change: RepositoryChange) => void,
    all: boolean,
  ): Promise<void> {
    // Listeners fetch again, which changes the order.
    const seen = Array.from(this.#seen)
    for (const [run, before] of seen) {
      try {
        const { events, status, startedAt } = await request(run)
        const isSame =
          events === before.events &&
          status === before.status &&
          // Another run can be recorded under the same name.
          startedAt === before.startedAt
        if (all || !isSame) notify({ type: 'grew', run, events, status })
      } catch (error) {
        if (!(error instanceof BackendError) || error.status !== 404) throw error
        this.forget(run)
        notify({ type: 'gone', run })
      }
    }
  }
}

const api = client.runs[':run']

async function readHead(run: string): Promise<RunHead> {
  return (await (await api.$get({ param: { run } })).json()).head
}

class ServerSource implements RunSource {
  readonly #run: string
  readonly #seen: (head: RunHead) => void

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

export async function connectServer(): Promise<ViewerBackend> {
  const { name, canChange } = await (await client.home.$get()).json()
  const seen = new SeenRuns()
  const connection = new ServerConnection({
    connect: async function* (signal) {
      yield* readLines<ChangeLine>(await client.changes.$get({}, { init: { signal } }))
    },
    catchUp: async (notify, { isFirst, wasBroken }) => {
      if (!isFirst) notify({ type: 'runs' })
      await seen.notifyChanged(readHead, notify, wasBroken)
    },
  })
  return {
    name,
    onlyRun: undefined,
    runs: async () => (await client.runs.$get()).json(),
    run: (id) => new ServerSource(id, (head) => seen.note(id, head)),
    abilities: async (id) =>
      (await (await client.runs[':run'].$get({ param: { run: id } })).json()).abilities,
    watch: (notify) => connection.watch(notify),
    live: canChange ? makeLiveActions(client) : undefined,
  }
}
