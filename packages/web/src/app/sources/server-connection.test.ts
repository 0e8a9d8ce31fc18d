import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { ChangeLine } from '../../api/api.js'
import type { RepositoryChange } from '../../api/run-repository.js'
import { type Missed, ServerConnection } from './server-connection.js'
import { BackendError } from './backend-error.js'
import type { ConnectionChange } from './backend.js'

/** A server that is told line by line what to say, and the page that listens to it. */
class Wire {
  readonly reported: (RepositoryChange | ConnectionChange)[] = []
  readonly missed: Missed[] = []
  connects = 0
  /** What the next attempts end with. */
  refusal: Error | undefined
  /** The next attempts are not answered at all. */
  hangs = false
  #say: ((line: ChangeLine | Error) => void) | undefined
  readonly connection = new ServerConnection({
    connect: (signal) => this.#connect(signal),
    catchUp: (_tell, missed) => {
      this.missed.push(missed)
      return Promise.resolve()
    },
  })
  readonly stop = this.connection.watch((change) => this.reported.push(change))

  say(line: ChangeLine): Promise<void> {
    this.#say?.(line)
    return settle()
  }

  cut(): Promise<void> {
    this.#say?.(new Error('cut'))
    return settle()
  }

  async *#connect(signal: AbortSignal): AsyncGenerator<ChangeLine> {
    this.connects += 1
    if (this.refusal !== undefined) throw this.refusal
    if (!this.hangs) yield { type: 'alive' }
    for (;;) {
      const line = await new Promise<ChangeLine | Error>((resolve) => {
        this.#say = resolve
        signal.addEventListener('abort', () => resolve(new Error('aborted')))
      })
      if (line instanceof Error) throw line
      yield line
    }
  }
}

async function later(ms: number): Promise<void> {
  await vi.advanceTimersByTimeAsync(ms)
}
const settle = (): Promise<void> => later(0)

let wire: Wire

beforeEach(async () => {
  vi.useFakeTimers()
  vi.stubGlobal('window', new EventTarget())
  vi.stubGlobal('document', Object.assign(new EventTarget(), { visibilityState: 'visible' }))
  wire = new Wire()
  await settle()
})

afterEach(async () => {
  wire.stop()
  await later(2000)
  vi.useRealTimers()
  vi.unstubAllGlobals()
})

function show(state: 'visible' | 'hidden'): Promise<void> {
  Object.assign(document, { visibilityState: state })
  document.dispatchEvent(new Event('visibilitychange'))
  return settle()
}

describe('a connection', () => {
  test('forwards changes and reports nothing of itself while it is open', async () => {
    await wire.say({ type: 'runs' })
    await wire.say({ type: 'alive' })
    await wire.say({ type: 'gone', run: 'x' })
    expect(wire.reported).toEqual([{ type: 'runs' }, { type: 'gone', run: 'x' }])
    expect(wire.missed).toEqual([{ wasBroken: false }])
  })

  test('that reconnects immediately is not called lost, but requests what was missed', async () => {
    await later(3000)
    await wire.cut()
    await settle()
    expect(wire.reported).toEqual([])
    expect(wire.missed.at(-1)).toEqual({ wasBroken: true })
  })

  test('that does not come back is lost, is tried again ever more slowly, and is open when it is back', async () => {
    await later(3000)
    wire.refusal = new Error('refused')
    await wire.cut()
    await later(300)
    expect(wire.reported).toEqual([{ type: 'connection', state: 'lost' }])
    await later(60_000)
    expect(wire.connects).toBeGreaterThan(10)
    expect(wire.connects).toBeLessThan(20)
    wire.refusal = undefined
    await later(5000)
    expect(wire.reported).toEqual([
      { type: 'connection', state: 'lost' },
      { type: 'connection', state: 'open' },
    ])
    expect(wire.missed).toHaveLength(2)
  })

  test('reports why the server rejects the page', async () => {
    await later(3000)
    wire.refusal = new Error('refused')
    await wire.cut()
    await later(300)
    wire.refusal = new BackendError(
      { code: 'VIEWER_NOT_SIGNED_IN', what: 'Not signed in.', fix: 'Sign in.' },
      401,
    )
    await later(10_000)
    expect(wire.reported.at(-1)).toMatchObject({
      state: 'lost',
      error: {
        code: 'VIEWER_NOT_SIGNED_IN',
        what: 'Not signed in.',
        fix: 'Sign in. This page then reconnects automatically.',
      },
    })
    expect(wire.reported).toHaveLength(2)
  })

  test('that is silent for too long is dead', async () => {
    await later(24_000)
    expect(wire.connects).toBe(1)
    await later(2000)
    expect(wire.connects).toBe(2)
    expect(wire.reported).toEqual([])
  })

  test('that is never answered is tried again, and lost', async () => {
    await later(3000)
    wire.hangs = true
    await wire.cut()
    expect(wire.connects).toBe(2)
    await later(26_000)
    expect(wire.connects).toBe(3)
    expect(wire.reported).toEqual([{ type: 'connection', state: 'lost' }])
  })

  test('is closed while the page is hidden, and then requests what was missed', async () => {
    await show('hidden')
    await later(20_000)
    await wire.say({ type: 'alive' })
    await later(11_000)
    await later(100_000)
    expect(wire.connects).toBe(1)
    await show('visible')
    expect(wire.connects).toBe(2)
    expect(wire.reported).toEqual([])
    expect(wire.missed.at(-1)).toEqual({ wasBroken: false })
  })

  test('reports to later listeners that it is lost', async () => {
    await later(3000)
    wire.refusal = new Error('refused')
    await wire.cut()
    await later(300)
    const reported: unknown[] = []
    wire.connection.watch((change) => reported.push(change))()
    expect(reported).toEqual([{ type: 'connection', state: 'lost' }])
  })

  test('ends without listeners, and restarts', async () => {
    wire.stop()
    await later(1500)
    await later(100_000)
    expect(wire.connects).toBe(1)
    wire.connection.watch(() => {})
    await settle()
    expect(wire.connects).toBe(2)
  })
})
