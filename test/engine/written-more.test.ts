import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { answerFrom, record, replay } from 'retake'

/** Input that is longer than the recorded input and begins otherwise must not match it. */

let folder: string
const shouts = createServer((socket) => {
  socket.on('error', () => {})
  socket.on('data', (data) => socket.write(String(data).toUpperCase()))
})

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'retake-told-'))
  await new Promise<void>((listening) => shouts.listen(0, '127.0.0.1', listening))
})
afterAll(async () => {
  shouts.close()
  await rm(folder, { recursive: true, force: true })
})

const overSocket = (word: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const socket = connect((shouts.address() as AddressInfo).port, '127.0.0.1')
    socket.on('error', reject)
    socket.once('data', (data) => {
      socket.end()
      resolve(String(data).trim())
    })
    socket.write(`tell ${word}\n`)
  })

const CHILD = `process.stdin.on('data', (d) => process.stdout.write(String(d).toUpperCase()))`
const byChild = (word: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ['-e', CHILD])
    child.on('error', reject)
    child.stdout.once('data', (data) => {
      child.stdin.end()
      resolve(String(data))
    })
    child.stdin.write(`tell ${word}`)
  })

const THREAD = `const { parentPort } = require('node:worker_threads')
parentPort.once('message', (word) => parentPort.postMessage(word.toUpperCase()))`
const byThread = (word: string): Promise<unknown> =>
  new Promise((resolve, reject) => {
    const thread = new Worker(THREAD, { eval: true })
    thread.on('error', reject)
    thread.once('message', (answer) => {
      void thread.terminate()
      resolve(answer)
    })
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
    thread.postMessage(`tell ${word}`)
  })

describe.each([
  ['a connection', overSocket],
  ['a process', byChild],
  ['a thread', byThread],
] as const)('%s that gets longer input', (_, ask) => {
  test('is not an identical replay', async () => {
    const { run, output } = await record({ name: 'told', dir: folder }, () => ask('him'))
    expect(output).toBe('TELL HIM')
    expect(await replay(run.path, () => ask('him'))).toEqual(
      expect.objectContaining({ output, divergences: [] }),
    )
    await expect(replay(run.path, () => ask('them all'))).rejects.toMatchObject({
      code: 'REPLAY_DIVERGED',
    })
  })

  test('gets no answer from the tape', async () => {
    const { run, output } = await record({ name: 'told', dir: folder }, () => ask('him'))
    const again = await answerFrom(run.path, () => ask('him'), { dir: folder })
    expect(again.output).toBe(output)
    await expect(
      answerFrom(run.path, () => ask('them all'), { dir: folder }),
    ).rejects.toMatchObject({ code: 'ANSWER_NOT_ON_TAPE' })
  })
})

test('a process that gets more input in the same turn gets no answer from the tape', async () => {
  const { run } = await record({ name: 'told', dir: folder }, () => byChild('him'))
  await expect(
    answerFrom(run.path, () => byChild('him all'), { dir: folder }),
  ).rejects.toMatchObject({ code: 'ANSWER_NOT_ON_TAPE' })
})

test('a process that gets shorter input does not block', async () => {
  const { run } = await record({ name: 'told', dir: folder }, () => byChild('them all'))
  await expect(answerFrom(run.path, () => byChild('him'), { dir: folder })).rejects.toMatchObject({
    code: 'ANSWER_NOT_ON_TAPE',
  })
})
