import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { RepositoryChange } from '../../api/run-repository.js'
import type { ConnectionChange, ViewerBackend } from './backend.js'
import { connectServer } from './server-backend.js'

/** A server whose answers a test gives one by one, in any order. */
class Server {
  readonly #waiting = new Map<string, ((response: Response) => void)[]>()
  #changes: ReadableStreamDefaultController<Uint8Array> | undefined

  readonly fetch = (address: string): Promise<Response> => {
    const path = address.replace('/api', '')
    if (path === '/repository')
      return Promise.resolve(Response.json({ name: 'x', canChange: true }))
    return new Promise((resolve) =>
      this.#waiting.set(path, [...(this.#waiting.get(path) ?? []), resolve]),
    )
  }

  /** Answers the oldest waiting request for a path. */
  async answer(path: string, json: unknown): Promise<void> {
    await vi.waitUntil(() => this.#waiting.get(path)?.length)
    this.#waiting.get(path)?.shift()?.(Response.json(json))
    await vi.advanceTimersByTimeAsync(10)
  }

  /** Answers the request for changes: from now on, they are reported. */
  async connect(): Promise<void> {
    await vi.waitUntil(() => this.#waiting.get('/changes')?.length)
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        this.#changes = controller
        controller.enqueue(new TextEncoder().encode('{"type":"alive"}\n'))
      },
    })
    this.#waiting.get('/changes')?.shift()?.(new Response(body))
    await vi.advanceTimersByTimeAsync(10)
  }

  end(): void {
    this.#changes?.close()
  }
}

const headOf = (events: number, status: string) => ({
  head: { id: 'r', events, status, startedAt: 1 },
  abilities: {},
})

let server: Server
let backend: ViewerBackend
let reported: (RepositoryChange | ConnectionChange)[]
let unwatch = (): void => {}

beforeEach(async () => {
  vi.useFakeTimers()
  server = new Server()
  vi.stubGlobal('fetch', server.fetch)
  vi.stubGlobal('window', new EventTarget())
  const page = { visibilityState: 'visible', querySelector: () => null }
  vi.stubGlobal('document', Object.assign(new EventTarget(), page))
  backend = await connectServer()
  reported = []
  unwatch = backend.watch((change) => reported.push(change))
})

afterEach(async () => {
  unwatch()
  await vi.advanceTimersByTimeAsync(2000)
  server.end()
  vi.useRealTimers()
  vi.unstubAllGlobals()
})

test('a run that grew between its first answer and the first connection is reported', async () => {
  const head = backend.run('r').head()
  await server.answer('/runs/r', headOf(5, 'recording'))
  await head
  await server.connect()
  await server.answer('/runs/r', headOf(6, 'done'))
  expect(reported).toEqual([{ type: 'grew', run: 'r', events: 6, status: 'done' }])
})

test('a run that grew while its first answer was on its way is reported', async () => {
  const head = backend.run('r').head()
  // The server made its answer before the page was connected; it arrives afterwards.
  await server.connect()
  await server.answer('/runs/r', headOf(5, 'recording'))
  await server.answer('/runs/r', headOf(6, 'done'))
  await head
  expect(reported).toEqual([{ type: 'grew', run: 'r', events: 6, status: 'done' }])
})

test('a list that was requested before the first connection is requested again', async () => {
  const runs = backend.runs()
  await server.connect()
  expect(reported).toEqual([])
  await server.answer('/runs', [])
  await runs
  expect(reported).toEqual([{ type: 'runs' }])
})
