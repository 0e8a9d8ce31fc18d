import type { ChangeLine } from '../../api/api.js'
import type { Abilities, ParentPage, RepositoryChange } from '../../api/run-repository.js'
import { type RunCard, setNewest } from '@retake/tape'
import type { Explained, RunHead, RunSource, UnreadableRun } from '../../model/run-source.js'
import { viewerBase } from './address.js'
import { BackendError } from './backend-error.js'
import type { LiveActions, RelatedRuns, ViewerBackend } from './backend.js'
import { ServerConnection } from './server-connection.js'

/** A path below `/api`, with escaped values. */
const url = (parts: TemplateStringsArray, ...values: readonly (string | number)[]): string =>
  String.raw({ raw: parts }, ...values.map(encodeURIComponent))

/** Throws error responses as `BackendError`. Other origins cannot set the header `x-retake`. */
async function request(path: string, init: RequestInit = {}): Promise<Response> {
  const headers = { 'x-retake': '1', ...(init.body && { 'content-type': 'application/json' }) }
  let response: Response
  try {
    response = await fetch(`${viewerBase()}/api${path}`, { ...init, headers })
  } catch (error) {
    if (init.signal?.aborted === true) throw error
    throw new BackendError({
      code: 'VIEWER_NO_ANSWER',
      what: 'The viewer’s server is not responding.',
      why: 'It has ended, or the connection to it is broken.',
      fix: 'Try again later. If you started it with `retake ui`, start it again and open the address it prints.',
    })
  }
  if (response.ok) return response
  // The response may not be from our server, or may be incomplete.
  const body = (await response.json().catch(() => null)) as { error?: Explained } | null
  const code = 'VIEWER_NO_ANSWER'
  const what = `The server answered with status ${response.status}.`
  const error = typeof body?.error?.what === 'string' ? body.error : { code, what }
  throw new BackendError(error, response.status)
}

const read = async <T>(path: string): Promise<T> => (await (await request(path)).json()) as T

async function post<T>(path: string, body?: unknown, signal?: AbortSignal): Promise<T> {
  const sent = body === undefined ? {} : { body: JSON.stringify(body) }
  return (await (await request(path, { method: 'POST', ...sent, signal })).json()) as T
}

/**
 * Yields the lines of a response as they arrive. If the last line is an error of the server, throws
 * it. A reader that stops cancels the request.
 */
async function* readLines<T>(path: string, signal?: AbortSignal): AsyncGenerator<T> {
  const { body } = await request(path, { signal })
  if (body === null) return
  let rest = ''
  const decoder = new TextDecoder()
  const reader = body.getReader()
  try {
    for (;;) {
      const { value, done } = await reader.read()
      rest += done ? decoder.decode() : decoder.decode(value, { stream: true })
      const lines = rest.split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) {
        const value = JSON.parse(line) as { readonly $error?: Explained } | null
        if (value?.$error !== undefined) throw new BackendError(value.$error)
        yield value as T
      }
      if (done) return
    }
  } finally {
    void reader.cancel().catch(() => {})
  }
}

type Seen = Pick<RunHead, 'events' | 'status' | 'startedAt'>

const SEEN_MAX = 8

/** Last known states of runs, to detect missed changes. */
class SeenRuns {
  /** Least recently used first. Undefined until the first answer, which may already be outdated. */
  readonly #seen = new Map<string, Seen | undefined>()

  request(run: string): void {
    if (!this.#seen.has(run)) setNewest(this.#seen, run, undefined, SEEN_MAX)
  }

  note(run: string, { events, status, startedAt }: RunHead): void {
    setNewest(this.#seen, run, { events, status, startedAt }, SEEN_MAX)
  }

  async notifyChanged(
    request: (run: string) => Promise<RunHead>,
    notify: (change: RepositoryChange) => void,
    all: boolean,
  ): Promise<void> {
    // Copied, because listeners fetch again, which changes the order.
    const seen = Array.from(this.#seen)
    for (const [run, before] of seen) {
      try {
        const { events, status, startedAt } = await request(run)
        const isSame =
          events === before?.events &&
          status === before.status &&
          // Another run can have the same id.
          startedAt === before.startedAt
        if (all || !isSame) notify({ type: 'grew', run, events, status })
      } catch (error) {
        // The request that is under way gets the same error.
        if (before === undefined) continue
        if (!(error instanceof BackendError) || error.status !== 404) throw error
        this.#seen.delete(run)
        notify({ type: 'gone', run })
      }
    }
  }
}

const readRun = (run: string) =>
  read<{ readonly head: RunHead; readonly abilities: Abilities }>(url`/runs/${run}`)

/** One member of a response; undefined if it is missing. */
const readMember = async <T>(path: string, name: string): Promise<T> =>
  (await read<Record<string, unknown>>(path))[name] as T

function serverSource(run: string, seen: SeenRuns): RunSource {
  const own = url`/runs/${run}`
  const step = (label: string): string => own + url`/steps/${label}`
  return {
    head: async () => {
      seen.request(run)
      const { head } = await readRun(run)
      seen.note(run, head)
      return head
    },
    rows: ({ from = 0, signal } = {}) => readLines(own + url`/rows?from=${from}`, signal),
    step: (label, { messagesFrom } = {}) =>
      readMember(
        step(label) + (messagesFrom === undefined ? '' : url`?messagesFrom=${messagesFrom}`),
        'step',
      ),
    stream: (label) => readMember(`${step(label)}/stream`, 'stream'),
    body: async (label, side) => {
      const response = await request(`${step(label)}/body/${side}`)
      return new Uint8Array(await response.arrayBuffer())
    },
    state: (label) => readMember(`${step(label)}/state`, 'state'),
    console: () => read(`${own}/console`),
    files: () => read(`${own}/files`),
    events: (from, to) => read(own + url`/events?from=${from}&to=${to}`),
    event: (seq) => readMember(own + url`/events/${seq}`, 'event'),
    findEvents: (text, signal) => readLines(own + url`/found-events?text=${text}`, signal),
    search: (text, signal) => readLines(own + url`/search?text=${text}`, signal),
    source: (site) => readMember(own + url`/source?site=${site}`, 'excerpt'),
    findings: (tab) => readMember(own + url`/findings/${tab}`, 'findings'),
  }
}

const related: RelatedRuns = {
  branches: (run) => read(url`/runs/${run}/branches`),
  compare: (a, b) => read(url`/compare?a=${a}&b=${b}`),
}

const liveActions: LiveActions = {
  editable: (run, step) => read(url`/runs/${run}/steps/${step}/editable`),
  fork: (run, fork) => post(url`/runs/${run}/fork`, fork),
  rerun: (run, options) => post(url`/runs/${run}/rerun`, options),
  trialTable: (run) => readMember(url`/runs/${run}/trials`, 'table'),
  writeTest: (run) => post(url`/runs/${run}/test`),
  applyFix: (run, fix) => post(url`/runs/${run}/fixes/${fix}/apply`),
  undoFix: (run, fix) => post(url`/runs/${run}/fixes/${fix}/undo`),
  approvals: () => read('/approvals'),
  decide: (run, decision) => post(url`/runs/${run}/approvals`, decision),
  jobs: () => read('/jobs'),
  stop: (job) => post(url`/jobs/${job}/stop`),
  openSession: (run) => post(url`/runs/${run}/sessions`),
  move: (session, to, { signal } = {}) => post(url`/sessions/${session}/move`, to, signal),
  evaluate: (session, expression) => post(url`/sessions/${session}/evaluate`, { expression }),
  // `keepalive`, so that a closing page can still send it.
  closeSession: async (session) => {
    await request(url`/sessions/${session}`, { method: 'DELETE', keepalive: true })
  },
}

export async function connectServer(): Promise<ViewerBackend> {
  const { name, canChange, tabs, editor, parent } = await read<{
    name: string
    canChange: boolean
    tabs: readonly string[]
    editor?: string
    parent?: ParentPage
  }>('/repository')
  const seen = new SeenRuns()
  let listing: Promise<unknown> | undefined
  const connection = new ServerConnection({
    connect: (signal) => readLines<ChangeLine>('/changes', signal),
    catchUp: async (notify, { wasBroken }) => {
      const refreshList = (): void => notify({ type: 'runs' })
      // Not before the list is there, so that it is shown without waiting for a second one.
      listing?.then(refreshList, refreshList)
      await seen.notifyChanged(async (run) => (await readRun(run)).head, notify, wasBroken)
    },
  })
  return {
    name,
    onlyRun: undefined,
    runs: () => {
      const cards = read<readonly (RunCard | UnreadableRun)[]>('/runs')
      listing = cards
      return cards
    },
    run: (id) => serverSource(id, seen),
    abilities: async (id) => (await readRun(id)).abilities,
    watch: (notify) => connection.watch(notify),
    related,
    live: canChange ? liveActions : undefined,
    tabs,
    ...(editor !== undefined && { editor }),
    ...(parent !== undefined && { parent }),
  }
}
