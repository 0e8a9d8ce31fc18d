import { expect, test } from 'vitest'
import { AskWorker } from './ask-worker.js'
import type { FromWorker, ToWorker } from './worker-protocol.js'

/** A worker that answers when the test says so. */
function standIn() {
  const heard: ToWorker[] = []
  const listeners = new Map<string, (event: never) => void>()
  const worker = {
    postMessage: (message: ToWorker) => heard.push(message),
    addEventListener: (type: string, listener: (event: never) => void) =>
      void listeners.set(type, listener),
  }
  return {
    asking: new AskWorker(worker),
    heard,
    tell: (data: FromWorker) => listeners.get('message')?.({ data } as never),
    crash: (message: string) => listeners.get('error')?.({ message } as never),
  }
}

test('answers find their questions, whatever the order they come in', async () => {
  const { asking, tell } = standIn()
  const head = asking.one({ ask: 'head' })
  const console = asking.one({ ask: 'console' })
  tell({ type: 'piece', id: 2, value: 'console' })
  tell({ type: 'end', id: 2 })
  tell({ type: 'piece', id: 1, value: 'head' })
  tell({ type: 'end', id: 1 })
  expect(await Promise.all([head, console])).toEqual(['head', 'console'])
})

test('pieces are handed out as they come, and whoever stops reading is said so', async () => {
  const { asking, tell, heard } = standIn()
  const rows = asking.pieces({ ask: 'rows', from: 0 })
  const first = rows.next()
  tell({ type: 'piece', id: 1, value: 'a' })
  expect(await first).toEqual({ done: false, value: 'a' })
  await rows.return(undefined)
  expect(heard.at(-1)).toEqual({ type: 'cancel', id: 1 })
  // Too late, and not an error.
  tell({ type: 'piece', id: 1, value: 'b' })
})

test('a search that is given up ends at once and is cancelled', async () => {
  const { asking, heard } = standIn()
  const giveUp = new AbortController()
  const next = asking.pieces({ ask: 'search', text: 'x' }, giveUp.signal).next()
  giveUp.abort()
  await expect(next).rejects.toThrow('aborted')
  expect(heard.at(-1)).toEqual({ type: 'cancel', id: 1 })
})

test('an error of the worker says what it said there', async () => {
  const { asking, tell } = standIn()
  const head = asking.one({ ask: 'head' })
  const error = { code: 'TAPE_CORRUPT', what: 'It is damaged.', why: 'A byte.', fix: 'Copy it.' }
  tell({ type: 'failed', id: 1, error })
  await expect(head).rejects.toMatchObject(error)
})

test('a worker that cannot run fails what was asked and what is asked then', async () => {
  const { asking, crash } = standIn()
  const head = asking.one({ ask: 'head' })
  crash('no worker here')
  await expect(head).rejects.toMatchObject({ code: 'REPORT_FAILED', why: 'no worker here' })
  await expect(asking.one({ ask: 'console' })).rejects.toMatchObject({ code: 'REPORT_FAILED' })
})
