import { expect, test } from 'vitest'
import { WorkerClient, type FromWorker, type ToWorker } from './worker-client.js'

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
    requesting: new WorkerClient(worker),
    heard,
    notify: (data: FromWorker) => listeners.get('message')?.({ data } as never),
    crash: (message: string) => listeners.get('error')?.({ message } as never),
  }
}

test('answers are matched to requests in any order', async () => {
  const { requesting, notify } = standIn()
  const head = requesting.one({ method: 'head', args: [] })
  const console = requesting.one({ method: 'console', args: [] })
  notify({ type: 'piece', id: 2, value: 'console' })
  notify({ type: 'end', id: 2 })
  notify({ type: 'piece', id: 1, value: 'head' })
  notify({ type: 'end', id: 1 })
  expect(await Promise.all([head, console])).toEqual(['head', 'console'])
})

test('chunks are delivered as they arrive, and the worker learns when a reader stops', async () => {
  const { requesting, notify, heard } = standIn()
  const rows = requesting.pieces({ method: 'rows', args: [] })
  const first = rows.next()
  notify({ type: 'piece', id: 1, value: 'a' })
  expect(await first).toEqual({ done: false, value: 'a' })
  await rows.return(undefined)
  expect(heard.at(-1)).toEqual({ type: 'cancel', id: 1 })
  // Too late, and not an error.
  notify({ type: 'piece', id: 1, value: 'b' })
})

test('an aborted search ends immediately and is cancelled', async () => {
  const { requesting, heard } = standIn()
  const giveUp = new AbortController()
  const next = requesting.pieces({ method: 'search', args: [] }, giveUp.signal).next()
  giveUp.abort()
  await expect(next).rejects.toThrow('aborted')
  expect(heard.at(-1)).toEqual({ type: 'cancel', id: 1 })
})

test('an error of the worker keeps its message', async () => {
  const { requesting, notify } = standIn()
  const head = requesting.one({ method: 'head', args: [] })
  const error = { code: 'TAPE_CORRUPT', what: 'It is damaged.', why: 'A byte.', fix: 'Copy it.' }
  notify({ type: 'failed', id: 1, error })
  await expect(head).rejects.toMatchObject(error)
})

test('a broken worker fails pending and later requests', async () => {
  const { requesting, crash } = standIn()
  const head = requesting.one({ method: 'head', args: [] })
  crash('no worker here')
  await expect(head).rejects.toMatchObject({ code: 'REPORT_FAILED', why: 'no worker here' })
  await expect(requesting.one({ method: 'console', args: [] })).rejects.toMatchObject({
    code: 'REPORT_FAILED',
  })
})
