import { expect, test } from 'vitest'
import type { Move, SessionPosition } from '../../api/run-repository.js'
import type { LiveActions } from '../sources/backend.js'
import { DebugSession } from './debug-session.js'

const GONE = { code: 'NO_SUCH_SESSION', what: 'It is closed.' }

/** A server that stands wherever it is told to, and writes down what it was asked. */
class Server {
  readonly requested: string[] = []
  sessions = 0
  open = new Set<string>()
  /** Lets moves wait until it is called. */
  release: (() => void) | undefined

  readonly actions = {
    openSession: () => {
      const session = `s${++this.sessions}`
      this.open.add(session)
      this.requested.push(`open ${session}`)
      return Promise.resolve({ session, steps: 9, changedSources: [], code: 'today' })
    },
    move: async (session: string, to: Move): Promise<SessionPosition> => {
      const goal = to.to === 'step' ? to.step : to.to
      this.requested.push(`${session} to ${goal}`)
      if (this.release !== undefined) await new Promise<void>((resolve) => (this.release = resolve))
      // oxlint-disable-next-line typescript/only-throw-error
      if (!this.open.has(session)) throw GONE
      return { kind: 'end', step: goal }
    },
    evaluate: (session: string, expression: string) => {
      this.requested.push(`${session} evaluates ${expression}`)
      return this.open.has(session)
        ? Promise.resolve({ ok: true, type: 'number', text: '1', json: 1 })
        : Promise.reject(GONE as unknown as Error)
    },
    closeSession: (session: string) => {
      this.requested.push(`close ${session}`)
      this.open.delete(session)
      return Promise.resolve()
    },
  } as unknown as LiveActions
}

const step = (label: string): Move => ({ to: 'step', step: label })

test('of several steps requested during a move, only the last one is reached', async () => {
  const server = new Server()
  server.release = () => {}
  const store = new DebugSession('run', server.actions)
  const moving = store.move(step('1'))
  void store.move(step('2'))
  void store.move(step('3'))
  await new Promise((resolve) => setTimeout(resolve))
  const go = server.release
  server.release = undefined
  go()
  await moving
  expect(server.requested).toEqual(['open s1', 's1 to 1', 's1 to 3'])
  expect(store.get().position).toEqual({ kind: 'end', step: '3' })
})

test('a session that was closed for being idle is opened again where it stood', async () => {
  const server = new Server()
  const store = new DebugSession('run', server.actions)
  await store.move(step('4'))
  server.open.clear()
  server.requested.length = 0
  await store.evaluate('x')
  expect(server.requested).toEqual(['s1 evaluates x', 'open s2', 's2 to 4', 's2 evaluates x'])
  expect(store.get().evaluated[0]?.value?.text).toBe('1')
})

test('watched expressions are evaluated after every move', async () => {
  const server = new Server()
  const store = new DebugSession('run', server.actions)
  await store.move(step('1'))
  await store.watch('x')
  server.requested.length = 0
  await store.move({ to: 'next' })
  expect(server.requested).toEqual(['s1 to next', 's1 evaluates x'])
})

test('a move that ends after everything was closed changes nothing, and the session is closed', async () => {
  const server = new Server()
  server.release = () => {}
  const store = new DebugSession('run', server.actions)
  const moving = store.move(step('1'))
  await new Promise((resolve) => setTimeout(resolve))
  store.close()
  server.release()
  await moving
  expect(store.get().phase).toBe('closed')
  expect(server.open.size).toBe(0)
})

test('a first move that fails leaves nothing open, and says why', async () => {
  const server = new Server()
  const store = new DebugSession('run', {
    ...server.actions,
    move: () => Promise.reject(Object.assign(new Error(), { code: 'X', what: 'It diverged.' })),
  })
  await store.move(step('1'))
  await new Promise((resolve) => setTimeout(resolve))
  expect(store.get()).toMatchObject({ phase: 'closed', error: { what: 'It diverged.' } })
  expect(server.open.size).toBe(0)
})
