import { execFile } from 'node:child_process'
import { mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { agentPath } from '../support/run-retake.mjs'

/** What became of a call. */
interface Seen {
  readonly status: string
  readonly code?: string
  readonly error?: string
  readonly message?: string
  readonly cause?: string
  readonly output: string
  readonly exitReason?: string
  /** The caller's arguments are as they were. */
  readonly isKept: boolean
}

interface Verified {
  readonly ok: boolean
  readonly calls: number
}

/** One call, made on the guard's own tape, in a recording and in its replay. */
interface Case {
  readonly own: Seen
  readonly recorded: Seen
  readonly replayed: Seen
  readonly divergences: number
  readonly starts: number
  readonly startsOnReplay: number
  readonly tape: Verified
  readonly recordedTape: Verified
  readonly thrown?: string
}

let folder: string
let seen: Readonly<Record<string, Case>>
let told: Readonly<Record<string, unknown>>
let aborted: number
let loud: readonly string[]

beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'retake-bad-')))
  const program = agentPath('guard/bad-input.mjs')
  const { stdout } = await promisify(execFile)(process.execPath, [program, folder], {
    cwd: folder,
    maxBuffer: 64 << 20,
  })
  ;({ seen, told, aborted, loud } = JSON.parse(stdout) as {
    seen: typeof seen
    told: typeof told
    aborted: number
    loud: string[]
  })
})
afterAll(() => rm(folder, { recursive: true, force: true }))

/** Never started: what the guard says, and what stands on the tape all the same. */
const refused: readonly (readonly [name: string, code: string, message: RegExp])[] = [
  ['an unknown tool', 'GUARD_UNKNOWN_TOOL', /no tool "nobody".*tools are tool/],
  ['no name', 'GUARD_UNKNOWN_TOOL', /no tool ""/],
  ['a name that is no text', 'GUARD_UNKNOWN_TOOL', /no tool "12"/],
  ['arguments of the wrong type', 'INPUT_INVALID', /a: must be a number/],
  ['a schema that throws', 'INPUT_INVALID', /schema is broken|cannot/],
  ['circular arguments', 'GUARD_ARGUMENTS_NOT_RECORDABLE', /a cycle \(at self\)/],
  ['arguments too deep', 'GUARD_ARGUMENTS_NOT_RECORDABLE', /more than 500 levels/],
  ['an endless list', 'GUARD_ARGUMENTS_TOO_LARGE', /more than 200000 values/],
  ['too many values', 'GUARD_ARGUMENTS_TOO_LARGE', /more than 200000 values/],
  ['too much text', 'GUARD_ARGUMENTS_TOO_LARGE', /67108865 bytes/],
  ['a function among arguments', 'GUARD_ARGUMENTS_NOT_RECORDABLE', /function .*\(at a\[0\]\)/],
  ['a function as arguments', 'GUARD_ARGUMENTS_NOT_RECORDABLE', /function/],
  ['a symbol among arguments', 'GUARD_ARGUMENTS_NOT_RECORDABLE', /Symbol\(x\) \(at a\)/],
  ['a property named by a symbol', 'GUARD_ARGUMENTS_NOT_RECORDABLE', /property Symbol\(x\)/],
  ['an object of a class', 'GUARD_ARGUMENTS_NOT_RECORDABLE', /class Money/],
  ['a promise as arguments', 'GUARD_ARGUMENTS_NOT_RECORDABLE', /class Promise/],
  ['a weak map', 'GUARD_ARGUMENTS_NOT_RECORDABLE', /class WeakMap \(at a\)/],
  ['an emitter', 'GUARD_ARGUMENTS_NOT_RECORDABLE', /class EventEmitter \(at a\)/],
  ['arguments that throw when read', 'GUARD_ARGUMENTS_NOT_RECORDABLE', /getter a/],
]

/** Started, and what came of it has no form on a tape, or is no error. */
const failed: readonly (readonly [name: string, code: string, about: RegExp])[] = [
  ['a tool that throws undefined', 'GUARD_TOOL_THREW_NO_ERROR', /undefined/],
  ['a tool that throws null', 'GUARD_TOOL_THREW_NO_ERROR', /null/],
  ['a tool that throws a text', 'GUARD_TOOL_THREW_NO_ERROR', /"no luck"/],
  ['a tool that throws a function', 'GUARD_TOOL_THREW_NO_ERROR', /function/],
  ['a tool that rejects with nothing', 'GUARD_TOOL_THREW_NO_ERROR', /undefined/],
  ['a tool that throws an object with a getter that throws', 'GUARD_TOOL_THREW_NO_ERROR', /object/],
  ['an asynchronous iterator', 'GUARD_RESULT_NOT_RECORDABLE', /an asynchronous iterator/],
  ['an iterator', 'GUARD_RESULT_NOT_RECORDABLE', /an iterator/],
  ['a stream', 'GUARD_RESULT_NOT_RECORDABLE', /an asynchronous iterator/],
  ['a web stream', 'GUARD_RESULT_NOT_RECORDABLE', /an asynchronous iterator/],
  ['a response', 'GUARD_RESULT_NOT_RECORDABLE', /a Response/],
  ['a function as a result', 'GUARD_RESULT_NOT_RECORDABLE', /a function/],
  ['a symbol as a result', 'GUARD_RESULT_NOT_RECORDABLE', /a symbol/],
  ['a weak map as a result', 'GUARD_RESULT_NOT_RECORDABLE', /a WeakMap/],
]

/** Let through: what the caller gets. */
const done: readonly (readonly [name: string, output: RegExp])[] = [
  ['arguments that are deep', /'fine'/],
  ['no arguments', /^undefined$/],
  ['null as arguments', /^null$/],
  ['half a character', /\{ a: '\\u(d800|D800)' \}/],
  ['data of every kind', /12n[^]*1970-01-02[^]*Invalid Date[^]*Map[^]*Set[^]*NaN[^]*-0[^]*Buffer/],
  ['bytes as arguments and result', /<Buffer 01 02 ff>/],
  ['bytes that are no buffer', /Uint8Array\(3\) \[ 1, 2, 3 \]/],
  ['a thenable that settles twice', /'first'/],
  ['a result with a getter that throws', /\{ a: 1, b: undefined \}/],
  ['a circular result', /\{ name: 'a', self: undefined \}/],
  ['a result with a function', /\{ a: 1 \}/],
  ['an object of a class as a result', /\{ amount: 3 \}/],
  ['a tool that ends the process later', /'soon'/],
  ['a tool that fails later, where nobody waits', /'done'/],
  ['a tool that changes its arguments', /^2$/],
  ['a tool that changes its result after returning it', /\{ list: \[ 1 \] \}/],
  ['a tool that freezes what it is given', /true/],
]

const caseOf = (name: string): Case => {
  const found = seen[name]
  if (found === undefined) throw new Error(`"${name}" was not tried`)
  expect(found.thrown).toBe(undefined)
  return found
}

describe('a call that cannot be made', () => {
  test.each(refused)('%s: denied with %s', (name, code, message) => {
    const { own, starts } = caseOf(name)
    expect(own).toMatchObject({ status: 'denied', error: 'GuardError', code })
    expect(own.message).toMatch(message)
    expect(starts).toBe(0)
  })
})

describe('a tool that misbehaves', () => {
  test.each(failed)('%s: failed with %s', (name, code, about) => {
    const { own, starts } = caseOf(name)
    expect(own).toMatchObject({ status: 'failed', error: 'GuardError', code })
    expect(own.message).toMatch(about)
    expect(starts).toBe(1)
  })

  test.each(done)('%s: done', (name, output) => {
    const { own } = caseOf(name)
    expect(own).toMatchObject({ status: 'done' })
    expect(own.output).toMatch(output)
  })

  test('an error is passed on unchanged', () => {
    expect(caseOf('a tool that throws an error with itself as cause').own).toMatchObject({
      status: 'failed',
      error: 'RangeError',
      message: 'round and round',
    })
    expect(caseOf('a thenable that throws').own).toMatchObject({ message: 'from then' })
    expect(caseOf('a result that cannot be read').own).toMatchObject({ status: 'failed' })
  })

  test('a call that never settles is given up with a reason', () => {
    for (const name of ['a promise that never settles', 'a thenable that never settles'])
      expect(caseOf(name).own).toMatchObject({ status: 'stopped', exitReason: 'timeout' })
    expect(aborted).toBe(2)
  })

  test('a result that is too large is not passed on', () => {
    for (const name of ['a result larger than the limit', 'an endless list as a result'])
      expect(caseOf(name).own).toMatchObject({ status: 'stopped', exitReason: 'output-size' })
  })

  test('process.exit ends the call, not the process', () => {
    expect(caseOf('a tool that ends the process').own).toMatchObject({
      status: 'denied',
      code: 'PROCESS_EXIT',
    })
  })
})

describe('every bad call', () => {
  test('is one step on a tape that verifies', () => {
    for (const [name, { tape, recordedTape }] of Object.entries(seen)) {
      expect(tape, name).toMatchObject({ ok: true, calls: 1 })
      expect(recordedTape, name).toMatchObject({ ok: true, calls: 1 })
    }
  })

  test('has the same result inside a recording, and replays without the tool', () => {
    for (const [name, each] of Object.entries(seen)) {
      expect(each.recorded, name).toEqual(each.own)
      expect(each.replayed, name).toEqual(each.recorded)
      expect([each.divergences, each.startsOnReplay], name).toEqual([0, 0])
    }
  })

  test('leaves the arguments of the caller unchanged', () => {
    for (const [name, { own }] of Object.entries(seen)) expect(own.isKept, name).toBe(true)
  })

  test('leaves no unhandled error', () => {
    expect(loud).toEqual([])
  })
})

describe('calls inside calls', () => {
  test('are limited in depth', () => {
    expect(told['a tool that calls itself without end']).toEqual({
      status: 'done',
      output: 'GUARD_TOO_DEEP',
      deepest: 100,
      ok: true,
    })
  })

  test('of two tools, and recursive ones, succeed', () => {
    expect(told['two tools that call each other, and themselves']).toEqual({
      status: 'done',
      length: 41,
      ok: true,
    })
  })

  test('replay with the call around them', () => {
    expect(told['a call inside a call, in a recording and its replay']).toEqual({
      recorded: [4, 6],
      replayed: [4, 6],
      divergences: 0,
      starts: [4, 0],
      ok: true,
    })
  })

  test('of another guard are checked by both guards', () => {
    expect(told['an inner guard is bound by the outer one']).toEqual({
      bad: { status: 'denied', code: 'PATH_OUTSIDE_ROOT' },
      good: { status: 'done', output: true },
      blocked: 1,
    })
  })
})

describe('many calls', () => {
  test('in sequence do not accumulate memory', () => {
    expect(told['two thousand calls, each made when the one before is over']).toEqual({
      left: 0,
      ok: true,
    })
  })

  test('that run concurrently, most of them bad, each get their answer', () => {
    expect(told['a thousand bad calls at once']).toEqual({
      counts: {
        'denied GUARD_ARGUMENTS_NOT_RECORDABLE': 143,
        'denied PROCESS_EXIT': 286,
        'failed GUARD_TOOL_THREW_NO_ERROR': 286,
        done: 285,
      },
      ok: true,
    })
  })
})

describe('a guard', () => {
  test('accepts only functions as tools, with unique names', () => {
    expect(told['a tool that is registered twice']).toEqual({
      code: ['GuardError', 'GUARD_TOOL_TWICE'],
      output: 'first',
    })
    expect(told['a tool that is no function']).toEqual(['GuardError', 'GUARD_TOOL_NOT_FUNCTION'])
  })

  test('that has ended runs nothing more, and its tape is unchanged', () => {
    const after = told['a call after the end'] as { count: number }
    expect(after).toEqual({
      status: 'denied',
      code: 'GUARD_ENDED',
      event: -1,
      thrown: 'GUARD_ENDED',
      starts: 1,
      count: after.count,
      again: after.count,
    })
    expect(told['a call after the end of a guard that was never used']).toEqual({
      status: 'denied',
      code: 'GUARD_ENDED',
      starts: 0,
    })
  })

  test('throws if requested', () => {
    expect(told['errors that are thrown where asked']).toEqual([
      'GUARD_TOOL_THREW_NO_ERROR',
      'GUARD_TOOL_THREW_NO_ERROR',
      'GUARD_UNKNOWN_TOOL',
      'GUARD_ARGUMENTS_NOT_RECORDABLE',
    ])
  })
})
