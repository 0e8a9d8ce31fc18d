import { execFile } from 'node:child_process'
import { mkdtemp, readFile, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { agentPath } from '../../support/run-retake.mjs'

interface Case {
  readonly name: string
  readonly code?: string
  /** Of what was blocked, where a client does not say what stopped it. */
  readonly blocked?: string
  /** `denied` unless set. */
  readonly status?: string
  /** The call may be done, as long as it reaches nobody. */
  readonly mayPass?: boolean
  /** An address that is allowed, and leads nowhere. */
  readonly mayConnect?: string
  readonly attempts?: number
  /** False where the attack cannot arrive anywhere from here. */
  readonly reaches?: boolean
}

interface Seen {
  readonly status: string
  readonly code?: string
  readonly rule?: string
  readonly allowed?: string
  readonly message?: string
  readonly attempts?: number
  readonly hits: number
  readonly connects: readonly string[]
  readonly blocked?: readonly string[]
}

interface Outcome {
  readonly name: string
  readonly thrown?: string
  readonly attack: Seen
  readonly twin: Seen
  readonly reaches?: boolean
}

const { cases } = (await import(pathToFileURL(agentPath('guard/network-attacks.mjs')).href)) as {
  cases: readonly Case[]
}

let folder: string
let outcomes: ReadonlyMap<string, Outcome>
let failures: readonly string[]
let listed: readonly number[]

/** All of them in a Node of their own, with real servers on the loopback. */
beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'retake-network-')))
  await promisify(execFile)(
    process.execPath,
    [agentPath('guard/run-network-attacks.mjs'), folder],
    { cwd: folder },
  )
  const seen = JSON.parse(await readFile(join(folder, 'results.json'), 'utf8')) as {
    results: readonly Outcome[]
    failures: readonly string[]
    listed: readonly number[]
  }
  outcomes = new Map(seen.results.map((outcome) => [outcome.name, outcome]))
  ;({ failures, listed } = seen)
})
afterAll(() => rm(folder, { recursive: true, force: true }))

function outcomeOf(name: string): Outcome {
  const outcome = outcomes.get(name)
  if (outcome === undefined) throw new Error(`"${name}" was not tried`)
  expect(outcome.thrown).toBe(undefined)
  return outcome
}

const expectedOf = ({ code, status = 'denied', mayPass, attempts }: Case): object => ({
  ...(mayPass !== true && { status }),
  ...(code !== undefined && {
    code,
    rule: expect.stringMatching(/\/network$/) as string,
    allowed: expect.stringMatching(/\S/) as string,
  }),
  ...(attempts !== undefined && { attempts }),
})

describe('attacks on the network scope', () => {
  test.each(cases)('$name: reaches nothing', (attempt) => {
    const { attack } = outcomeOf(attempt.name)
    expect(attack.hits, 'hits on what is secret').toBe(0)
    const strangers = attack.connects.filter(
      (place) =>
        !listed.some((port) => place.endsWith(`:${port}`)) &&
        !(attempt.mayConnect && place.startsWith(attempt.mayConnect)),
    )
    expect(strangers, 'native connects').toEqual([])
    expect(attack, attack.message).toMatchObject(expectedOf(attempt))
    const blocked = attack.blocked?.map((text) => text.slice(0, text.indexOf(':'))) ?? []
    expect(blocked).toEqual(expect.arrayContaining([attempt.blocked ?? []].flat()))
  })

  test.each(cases)('$name: its benign twin is answered', ({ name }) => {
    const { twin } = outcomeOf(name)
    expect(twin.status, twin.message).toBe('done')
    expect(twin.hits).toBe(0)
  })

  test.each(cases.filter(({ reaches }) => reaches !== false))(
    '$name: arrives without a guard',
    ({ name }) => {
      expect(outcomeOf(name).reaches).toBe(true)
    },
  )

  test('there are more than seventy cases with unique names', () => {
    expect(cases.length).toBeGreaterThan(70)
    expect(new Set(cases.map(({ name }) => name)).size).toBe(cases.length)
  })

  test('no error is unhandled', () => {
    expect(failures).toEqual([])
  })
})
