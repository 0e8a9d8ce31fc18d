import { spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openTape } from '@retake/tape/node'
import { startPostgres } from '../support/postgres.mjs'
import { isSoak, repetitions, sampled } from '../support/soak.js'

/**
 * A workflow of twelve guarded steps is killed at every boundary of a step, and at random
 * moments, while it runs and while it resumes. Its effects are rows of a real PostgreSQL:
 * each must be there exactly once at the end, but for those that are reported in doubt.
 */
/** Random kills of one run; then it may come to its end. */
const KILLS_EACH = 8
const randomKills = repetitions('RETAKE_GUARD_KILLS', { beforeMerge: 3, soak: 400 })
/** A busy machine starts a hundred processes slowly. */
const TIMEOUT_MS = 600_000
const workflow = fileURLToPath(new URL('guard-workflow.mjs', import.meta.url))

const PLAIN = ['first', 'same', 'sixth', 'twelfth']
const INSIDE = ['seventh, first inside', 'tenth, first inside']
const KEYED = ['fifth', 'ninth', 'seventh, second inside', 'tenth, second inside']
const IDEMPOTENT = ['fourth', 'eleventh', 'seventh', 'tenth', ...KEYED]
const STEPS = [...PLAIN, 'fourth', 'fifth', 'seventh', 'ninth', 'tenth', 'eleventh']
const EFFECTS = [...PLAIN, ...INSIDE, ...IDEMPOTENT]

interface Line {
  readonly label?: string
  readonly status?: string
  readonly served?: boolean
  readonly inDoubt?: readonly { readonly label: string }[]
}

interface Ended {
  readonly kills: number
  /** What the last process, which came to its end, said. */
  readonly lines: readonly Line[]
  readonly rows: ReadonlyMap<string, number>
  readonly keys: readonly string[]
  readonly folder: string
}

let postgres: Awaited<ReturnType<typeof startPostgres>>
let database: Awaited<ReturnType<typeof postgres.connect>>
let root: string

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'retake-guard-crash-'))
  postgres = await startPostgres()
  database = await postgres.connect()
  await database.query(
    'create table effects (workflow text, label text, key text, once_key text unique)',
  )
})
afterAll(async () => {
  await database?.end()
  await postgres?.stop()
  rmSync(root, { recursive: true, force: true })
})

/** Starts the workflow until it comes to its end. `killAfter` says when it is killed from outside, if it is. */
async function runToEnd(
  name: string,
  spots: readonly string[],
  killAfter: (attempt: number) => number | undefined = () => undefined,
): Promise<Ended> {
  const folder = mkdtempSync(join(root, 'run-'))
  for (let attempt = 0; attempt <= spots.length + KILLS_EACH; attempt += 1) {
    const { code, signal, lines, stderr } = await runOnce(name, folder, spots, killAfter(attempt))
    // A kill that comes after the end is too late: that run is over, and the next one is another.
    if (code === 0 || hasEnded(folder)) {
      const found: { rows: { label: string; key: string }[] } = await database.query(
        'select label, key from effects where workflow = $1',
        [name],
      )
      const rows = new Map<string, number>()
      for (const { label } of found.rows) rows.set(label, (rows.get(label) ?? 0) + 1)
      return {
        kills: code === 0 ? attempt : attempt + 1,
        lines,
        rows,
        keys: found.rows.map(({ key }) => key),
        folder,
      }
    }
    if (signal !== 'SIGKILL') throw new Error(`${name} failed by itself: ${stderr}`)
  }
  throw new Error(`${name} never came to its end`)
}

/** Only a run that came to its end has a seal. */
const hasEnded = (folder: string): boolean =>
  tapesIn(folder).some((tape) => {
    try {
      return openTape(tape).status === 'sealed'
    } catch {
      return false
    }
  })

const tapesIn = (folder: string): string[] =>
  readdirSync(folder)
    .filter((each) => each.endsWith('.tape'))
    .map((each) => join(folder, each))

interface OneRun {
  readonly code: number | null
  readonly signal: string | null
  readonly lines: readonly Line[]
  readonly stderr: string
}

function runOnce(
  name: string,
  folder: string,
  spots: readonly string[],
  killAfterMs: number | undefined,
): Promise<OneRun> {
  const { connection } = postgres
  const child = spawn(process.execPath, [workflow, folder], {
    env: {
      ...process.env,
      EFFECTS: JSON.stringify({ connection, workflow: name }),
      KILLS: JSON.stringify(spots),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let [stdout, stderr] = ['', '']
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()))
  child.stdout.on('data', (chunk: Buffer) => {
    const isReady = stdout === ''
    stdout += chunk.toString()
    if (isReady && killAfterMs !== undefined) setTimeout(() => child.kill('SIGKILL'), killAfterMs)
  })
  return new Promise((resolve) => {
    child.on('close', (code, signal) => {
      const whole = stdout.split('\n').slice(0, -1)
      resolve({ code, signal, stderr, lines: whole.map((line) => JSON.parse(line) as Line) })
    })
  })
}

/** Every effect as often as it is wanted, unless it is in doubt: then that often or less. */
function complaintsAbout(ended: Ended): string[] {
  const { lines, rows, keys, folder } = ended
  const complaints: string[] = []
  const reported = doubtsOf(ended)
  // Killed after its end, but before it could say what is in doubt: then any of it may be.
  const isTold = lines.at(-1)?.inDoubt !== undefined
  for (const label of EFFECTS) {
    const wanted = label === 'same' ? 3 : 1
    const doubts = reported.filter((each) => each === label).length
    const count = rows.get(label) ?? 0
    if (count > wanted || (isTold && count < wanted - doubts))
      complaints.push(`${label}: ${count} times, with ${doubts} in doubt`)
    if (doubts > 0 && IDEMPOTENT.includes(label)) complaints.push(`${label} was left in doubt`)
  }
  if (new Set(keys).size !== keys.length) complaints.push('two effects had the same key')
  for (const { label, status } of lines) {
    if (isTold && status === 'in doubt' && !reported.includes(label ?? ''))
      complaints.push(`${label} was in doubt, and not reported at the end`)
  }
  for (const file of tapesIn(folder)) {
    const problem = problemOf(file)
    if (problem !== undefined) complaints.push(`${file}: ${problem}`)
  }
  return complaints
}

/** A kill may come before the first record of a tape: then nothing was done. */
function problemOf(tape: string): string | undefined {
  try {
    return openTape(tape).verify().problem?.message
  } catch (error) {
    const { code = String(error) } = error as { code?: string }
    return code === 'TAPE_EMPTY' || code === 'TAPE_NO_RUN' ? undefined : code
  }
}

/** What the run said at its end to be in doubt. */
const doubtsOf = ({ lines }: Ended): string[] =>
  lines.at(-1)?.inDoubt?.map(({ label }) => label) ?? []

test.concurrent(
  'killed before each intent, in the middle of each decision and after each result, it leaves nothing in doubt',
  async () => {
    const all = [
      ...STEPS.map((label) => `before-intent ${label}`),
      ...KEYED.map((label) => `key ${label}`),
      ...STEPS.map((label) => `after-result ${label}`),
      'before-end all',
    ]
    const spots = sampled(all, (_, index) => index % 5 === 0)
    const ended = await runToEnd('between', spots)
    expect(ended.kills).toBe(spots.length)
    expect(complaintsAbout(ended)).toEqual([])
    expect(doubtsOf(ended)).toEqual([])
    expect([...ended.rows.values()].reduce((sum, count) => sum + count, 0)).toBe(16)
  },
  TIMEOUT_MS,
)

test.runIf(isSoak).concurrent(
  'killed between each intent and its effect, it reports what is not safe to repeat and performs the rest',
  async () => {
    const spots = EFFECTS.map((label) => `before-effect ${label}`)
    const ended = await runToEnd('before', spots)
    expect(ended.kills).toBe(spots.length)
    expect(complaintsAbout(ended)).toEqual([])
    expect(doubtsOf(ended).toSorted()).toEqual([...PLAIN, ...INSIDE].toSorted())
    // Nobody did it: it was never repeated.
    for (const label of ['first', 'sixth', ...INSIDE]) expect(ended.rows.get(label)).toBeUndefined()
  },
  TIMEOUT_MS,
)

test.concurrent(
  'killed between each effect and its result, it repeats no effect and reports what it cannot know',
  async () => {
    const spots = EFFECTS.map((label) => `after-effect ${label}`)
    const ended = await runToEnd('after', spots)
    expect(ended.kills).toBe(spots.length)
    expect(complaintsAbout(ended)).toEqual([])
    expect(doubtsOf(ended).toSorted()).toEqual([...PLAIN, ...INSIDE].toSorted())
    for (const label of EFFECTS) expect(ended.rows.get(label)).toBe(label === 'same' ? 3 : 1)
  },
  TIMEOUT_MS,
)

test(
  `killed at ${randomKills} random moments, also while it resumes, no effect happens twice`,
  async () => {
    const endings: Ended[] = []
    const oneByOne = async (lane: number): Promise<void> => {
      for (let round = 0; killsIn(endings) < randomKills; round += 1) {
        const name = `random ${lane}.${round}`
        // A run that has less and less to do is killed sooner and sooner.
        const killAfter = (attempt: number): number | undefined =>
          attempt < KILLS_EACH ? Math.random() * (140 - attempt * 12) : undefined
        endings.push(await runToEnd(name, [], killAfter))
      }
    }
    await Promise.all([oneByOne(1), oneByOne(2)])
    expect(killsIn(endings)).toBeGreaterThanOrEqual(randomKills)
    expect(endings.flatMap(complaintsAbout)).toEqual([])
  },
  TIMEOUT_MS + randomKills * 10_000,
)

const killsIn = (endings: readonly Ended[]): number =>
  endings.reduce((sum, { kills }) => sum + kills, 0)
