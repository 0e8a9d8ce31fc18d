import { execFile } from 'node:child_process'
import { mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hasSandbox } from './has-sandbox.js'
import { agentPath } from './run-retake.mjs'

interface Expected {
  /** What the error's code is, or how it begins. */
  readonly code?: string
  /** The code of what was blocked, where the tool goes on without it. */
  readonly blocked?: string
  readonly status?: readonly string[]
  /** The bad value is never seen: the call goes through with the one that was read. */
  readonly passes?: boolean
  /** The call may be done, as long as it leaves no mark. */
  readonly mayPass?: boolean
  /** Whether the twin leaves a mark; it does unless set. */
  readonly isMarked?: boolean
}

interface Case extends Expected {
  readonly name: string
  readonly twin: Expected
}

interface Seen {
  readonly status?: string
  readonly isMarked?: boolean
  readonly code?: string
  readonly allowed?: string
  readonly message?: string
  readonly blocked?: readonly string[]
  readonly thrown?: string
}

interface Outcome {
  readonly name: string
  readonly attack: Seen
  readonly twin: Seen
}

/** Without a sandbox, programs start only with arguments that are listed word for word. */
const needsSandbox = ({ code, blocked = [] }: Seen): boolean =>
  !hasSandbox && [code, ...blocked].includes('SHELL_NO_SANDBOX')

/** In which ways the answer to an attack is not the one that is due. */
function mistakesIn(expected: Case, seen: Seen): string[] {
  const { code, blocked, passes, mayPass } = expected
  if (needsSandbox(seen) && seen.status === 'denied') return []
  const { status = [passes === true ? 'done' : 'denied'] } = expected
  const mistakes: string[] = []
  if (code !== undefined && !new RegExp(`^${code}`).test(seen.code ?? ''))
    mistakes.push(`its code is ${seen.code}`)
  if (code !== undefined && !seen.allowed) mistakes.push('it does not say what is allowed')
  if (blocked !== undefined && seen.blocked?.includes(blocked) !== true)
    mistakes.push(`blocked were ${String(seen.blocked)}`)
  if (blocked === undefined && mayPass !== true && !status.includes(seen.status ?? ''))
    mistakes.push(`its status is ${seen.status}: ${seen.message}`)
  return mistakes
}

/** Makes the attacks of a suite and their twins in a Node of their own; each is a test. */
export async function describeAttacks(suite: string): Promise<void> {
  const { cases } = (await import(pathToFileURL(suite).href)) as { cases: readonly Case[] }
  let folder: string
  let outcomes: ReadonlyMap<string, Outcome>
  let failures: readonly string[]

  beforeAll(async () => {
    folder = await realpath(await mkdtemp(join(tmpdir(), 'retake-attacks-')))
    const runner = agentPath('guard/run-attacks.mjs')
    const { stdout } = await promisify(execFile)(process.execPath, [runner, suite, folder], {
      cwd: folder,
      maxBuffer: 64 << 20,
    })
    const seen = JSON.parse(stdout.slice(stdout.lastIndexOf('\n{') + 1)) as {
      results: readonly Outcome[]
      failures: readonly string[]
    }
    outcomes = new Map(seen.results.map((outcome) => [outcome.name, outcome]))
    failures = seen.failures
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  const seenOf = (name: string): Outcome => {
    const outcome = outcomes.get(name)
    if (outcome === undefined) throw new Error(`"${name}" was not tried`)
    return outcome
  }

  describe('an attack', () => {
    test.each(cases)('$name: is stopped', (each) => {
      const { attack } = seenOf(each.name)
      expect(attack.thrown).toBe(undefined)
      expect(attack, 'left a mark').toMatchObject({ isMarked: false })
      expect(mistakesIn(each, attack)).toEqual([])
    })

    test.for(cases)('$name: its benign twin is allowed', ({ name, twin }, { skip }) => {
      const seen = seenOf(name).twin
      skip(needsSandbox(seen), 'needs a sandbox')
      expect(seen.thrown).toBe(undefined)
      expect(seen, seen.message ?? '').toMatchObject({
        status: 'done',
        isMarked: twin.isMarked ?? true,
      })
    })

    test('case names are unique', () => {
      expect(new Set(cases.map(({ name }) => name)).size).toBe(cases.length)
    })

    test('no rejection is unhandled', () => {
      expect(failures).toEqual([])
    })
  })
}
