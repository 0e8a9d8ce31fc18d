import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { openTape, TapeWriter } from '@retake/tape/node'
import { expect, onTestFinished, test } from 'vitest'
import { movedTape } from './moved-tape.js'

const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString()

/** A tape with one file call per body, read as if `/app` had moved to `current`. */
function moved(current: string, bodies: readonly (readonly ['bytes' | 'text', string])[]) {
  const folder = mkdtempSync(path.join(tmpdir(), 'retake-moved-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = path.join(folder, 'a.tape')
  const writer = TapeWriter.create(
    file,
    {
      type: 'run',
      id: 'a',
      name: 'a',
      startedAt: 0,
      scope: 'process',
      node: 'v20.0.0',
    },
    { cwd: '/app/sub', entry: '/app/agent.mjs', env: { PATH: '/usr/bin:/app/bin', A: '/apple' } },
  )
  for (const [as, body] of bodies) {
    const call = { type: 'call', kind: 'file', name: 'fs.readFile', title: '/app/a' } as const
    const op = writer.append(call, Buffer.from('/app'))
    const error = { class: 'Error', name: 'Error', message: `open '/app/a'` }
    writer.append({ type: 'result', op, as, error }, Buffer.from(body))
  }
  writer.seal()
  return movedTape(openTape(file), { recorded: '/app', current })
}

test('served values name the new folder, compared values the old one', () => {
  const tape = moved('/new', [['text', '{"at":"/app/x","url":"file:///app/y"}']])
  expect(tape.event(1)).toMatchObject({ title: '/app/a' })
  expect(text(tape.body(1))).toBe('/app')
  expect(tape.event(2)).toMatchObject({ error: { message: `open '/new/a'` } })
  expect(text(tape.body(2))).toBe('{"at":"/new/x","url":"file:///new/y"}')
  expect(tape.details).toMatchObject({
    cwd: '/new/sub',
    entry: '/new/agent.mjs',
    env: { PATH: '/usr/bin:/new/bin', A: '/apple' },
  })
  expect(tape.verify().ok).toBe(true)
})

test('only the whole folder counts', () => {
  const same = '/apple /app-2 /app.old https://example.org/app /my/app'
  const tape = moved('/new', [['text', `${same} /app. (/app) /app:1`]])
  expect(text(tape.body(2))).toBe(`${same} /new. (/new) /new:1`)
})

test('raw bytes stay unchanged if the names differ in length', () => {
  const bodies = [
    ['bytes', '\u00e9 /app/x'],
    ['text', '/app/x'],
  ] as const
  const longer = moved('/longer', bodies)
  expect([text(longer.body(2)), text(longer.body(4))]).toEqual(['\u00e9 /app/x', '/longer/x'])
  expect(text(moved('/new', bodies).body(2))).toBe('\u00e9 /new/x')
})
