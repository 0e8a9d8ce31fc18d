import { mkdtempSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type PQueueModule from 'p-queue'
import { expect, onTestFinished, test } from 'vitest'
import { openTape } from '@retake/tape/node'
import { fork } from '../../library/run-again.js'
import { record } from '../../library/record.js'
import { replay } from '../../library/replay.js'
import { tool } from '../../library/tool.js'
import { install } from '../install.js'
import { sharedQueue } from './shared-queues.js'

install()
const { default: PQueue } = createRequire(import.meta.url)('p-queue') as typeof PQueueModule

type Add = (task: (...args: string[]) => Promise<string>, ...args: string[]) => Promise<unknown>

/** Like p-limit: starts a task in the context of the task before it. */
function limiter(concurrency: number): Add {
  const waiting: (() => void)[] = []
  let running = 0
  const next = (): void => {
    while (running < concurrency && waiting.length > 0) {
      running += 1
      waiting.shift()?.()
    }
  }
  return (task, ...args) =>
    new Promise((resolve, reject) => {
      const start = (): void =>
        void task(...args)
          .then(resolve, reject)
          .finally(() => {
            running -= 1
            next()
          })
      waiting.push(start)
      next()
    })
}

const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
const ask = tool('ask', async (text: string) => {
  await wait(1 + (text.length % 5))
  if (text.startsWith('wrong')) throw new RangeError(text)
  return `${text}?`
})

async function agent(id: string, add: Add): Promise<string> {
  const first = await add(ask, id)
  const rest = await Promise.allSettled([
    add(ask, `${id}-bb`),
    add(ask, `wrong ${id}`),
    add(async () => `${await ask(id)}${Math.random()}`),
  ])
  return [first, ...rest.map((each) => ('value' in each ? each.value : String(each.reason)))].join()
}

const makeDir = (): string => {
  const dir = mkdtempSync(path.join(tmpdir(), 'retake-queues-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  return dir
}

const recordAll = (dir: string, add: Add) =>
  Promise.all(
    Array.from({ length: 8 }, async (_, index) => {
      const id = 'x'.repeat(index)
      return { id, ...(await record({ name: 'queue', dir }, () => agent(id, add))) }
    }),
  )

const queues: Readonly<Record<string, () => Add>> = {
  'a wrapped function': () => sharedQueue(limiter(2)),
  'p-queue': () => {
    const queue = new PQueue({ concurrency: 2 })
    return (task, ...args) => queue.add(() => task(...args))
  },
  'p-queue with a rate limit': () => {
    const queue = new PQueue({ interval: 10, intervalCap: 5 })
    return (task, ...args) => queue.add(() => task(...args))
  },
}

test.each(Object.entries(queues))('runs that share %s replay one by one', async (_, make) => {
  const add = make()
  for (const { id, output, run } of await recordAll(makeDir(), add)) {
    const tape = openTape(run.path)
    const steps = [...tape.events()].filter((each) => each.type === 'call' && each.kind === 'tool')
    expect(steps).toHaveLength(4)
    const again = await replay(run.path, () => agent(id, add))
    expect(again.output).toBe(output)
    expect(output).toContain(`RangeError: wrong ${id}`)
  }
})

test('a task that the queue gives up on replays with the same error', async () => {
  const queue = new PQueue({ concurrency: 1, timeout: 5, throwOnTimeout: true })
  const late = (): Promise<string> => queue.add(() => wait(60).then(() => 'late'))
  const program = (): Promise<string> => late().catch((error: unknown) => (error as Error).name)
  const { output, run } = await record({ name: 'late', dir: makeDir() }, program)
  expect(output).toBe('TimeoutError')
  expect((await replay(run.path, program)).output).toBe(output)
})

test('a fork goes live inside a task without starting it twice', async () => {
  const dir = makeDir()
  const add = sharedQueue(limiter(1))
  let started = 0
  const program = (): Promise<unknown> =>
    add(async () => {
      started += 1
      return `${await ask('a')}${await ask('b')}`
    })
  const { run } = await record({ name: 'once', dir }, program)
  started = 0
  const forked = await fork(run.path, program, { at: 2 })
  expect(forked.output).toBe('a?b?')
  expect(started).toBe(1)
  expect((await replay(forked.run.path, program)).output).toBe('a?b?')
})
