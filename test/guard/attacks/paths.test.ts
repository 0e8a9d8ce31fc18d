import { execFile } from 'node:child_process'
import { mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

interface Case {
  readonly name: string
  readonly code: string
  /** How often the tool is started: not at all when its arguments give it away. */
  readonly starts: 0 | 1
  readonly output?: unknown
  readonly written?: unknown
  readonly rule?: string
}

interface Seen {
  readonly status: string
  readonly starts: number
  readonly code?: string
  readonly rule?: string
  readonly allowed?: string
  readonly message?: string
  readonly output?: unknown
  readonly root: string
  readonly isUnchanged: boolean
  readonly isTold: boolean
  readonly isWritten?: boolean
}

const suite = './path-attacks.mjs'
const { cases } = (await import(suite)) as { cases: readonly Case[] }

let folder: string
let outcomes: ReadonlyMap<string, { readonly attack: Seen; readonly twin: Seen }>
let failures: readonly string[]

beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'retake-paths-')))
  const runner = fileURLToPath(new URL('path-runner.mjs', import.meta.url))
  const { stdout } = await promisify(execFile)(process.execPath, [runner, folder], {
    maxBuffer: 64 << 20,
  })
  const seen = JSON.parse(stdout.slice(stdout.lastIndexOf('\n{') + 1)) as {
    results: readonly { name: string; attack: Seen; twin: Seen }[]
    failures: readonly string[]
  }
  outcomes = new Map(seen.results.map((outcome) => [outcome.name, outcome]))
  ;({ failures } = seen)
})
afterAll(() => rm(folder, { recursive: true, force: true }))

function seenOf(name: string): { readonly attack: Seen; readonly twin: Seen } {
  const outcome = outcomes.get(name)
  if (outcome === undefined) throw new Error(`"${name}" was not tried`)
  return outcome
}

test('a file replaced by a link between check and use is neither read nor changed', async () => {
  const place = await realpath(await mkdtemp(join(tmpdir(), 'retake-race-')))
  const race = fileURLToPath(new URL('path-race.mjs', import.meta.url))
  const { stdout } = await promisify(execFile)(process.execPath, [race, place])
  const { tries, texts, denied, done, ...seen } = JSON.parse(
    stdout.slice(stdout.lastIndexOf('\n{') + 1),
  ) as { tries: number; texts: string[]; denied: number; done: number }
  await rm(place, { recursive: true, force: true })
  expect(tries).toBeGreaterThanOrEqual(200)
  // It was exchanged while it was used, or this says nothing.
  expect(denied).toBeGreaterThan(0)
  expect(done).toBeGreaterThan(0)
  expect(texts).toContain('inside')
  expect(texts.filter((text) => text.includes('outside'))).toEqual([])
  expect(seen).toMatchObject({
    isSwapping: true,
    outside: ['file.txt'],
    content: 'outside',
    isUntouched: true,
  })
})

test('a tool touches no file after its call, and hidden files do not exist for it', async () => {
  const place = await realpath(await mkdtemp(join(tmpdir(), 'retake-leftovers-')))
  const program = fileURLToPath(new URL('path-leftovers.mjs', import.meta.url))
  const { stdout } = await promisify(execFile)(process.execPath, [program, place])
  await rm(place, { recursive: true, force: true })
  expect(JSON.parse(stdout.slice(stdout.lastIndexOf('\n{') + 1))).toEqual({
    exists: [false, true, false, true],
    later: {
      open: 'GUARD_CALL_OVER',
      write: 'GUARD_CALL_OVER',
      handle: 'EBADF',
      close: 'undefined',
    },
    content: 'inside',
    outside: 'secret',
  })
})

describe('attacks on paths', () => {
  test.each(cases)('$name: is stopped', ({ name, code, starts, rule = 'sandbox/files' }) => {
    const { attack } = seenOf(name)
    expect(attack, attack.message).toMatchObject({
      status: 'denied',
      code,
      rule,
      starts,
      isUnchanged: true,
      isTold: false,
    })
    expect(attack.allowed).toMatch(/\S/)
  })

  test.each(cases)('$name: its benign twin is allowed', ({ name, output = 'inside', written }) => {
    const { twin } = seenOf(name)
    expect(twin, twin.message).toMatchObject({
      status: 'done',
      starts: 1,
      output,
      isUnchanged: true,
    })
    expect(twin.isWritten).toBe(written === undefined ? undefined : true)
  })

  test('there are at least seventy cases with unique names', () => {
    expect(cases.length).toBeGreaterThanOrEqual(70)
    expect(new Set(cases.map(({ name }) => name)).size).toBe(cases.length)
  })

  test('no rejection is unhandled', () => {
    expect(failures).toEqual([])
  })
})
