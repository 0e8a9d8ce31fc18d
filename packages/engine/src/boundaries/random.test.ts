import crypto from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { record } from '../library/record.js'
import { replay } from '../library/replay.js'

test('ids of every kind are drawn from the tape', async () => {
  const dir = mkdtempSync(path.join(tmpdir(), 'retake-random-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  const { randomUUID } = crypto
  const maker = crypto as unknown as Record<string, () => string>
  // A stand-in for versions of Node without it.
  maker['randomUUIDv7'] ??= () => `v7-${randomUUID()}`
  const agent = async (): Promise<unknown> => [
    crypto.randomUUID(),
    maker['randomUUIDv7']?.(),
    globalThis.crypto.randomUUID(),
  ]
  const { output, run } = await record({ name: 'ids', dir }, agent)
  expect((await replay(run.path, agent)).output).toEqual(output)
})
