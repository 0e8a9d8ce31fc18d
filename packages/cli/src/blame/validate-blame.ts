import { type Look, Progress, table } from '../terminal/terminal.js'
import { pathToFileURL } from 'node:url'
import path from 'node:path'
import { causeIndexes } from '@retake/diagnose'
import type { BlameFindings } from '@retake/tape'
import { openTape } from '@retake/tape/node'
import { duration } from '@retake/tape/present'
import { Interruption } from '../command-line/exit-codes.js'
import { copyShippedAside, type ShippedFolder, recordShipped } from '../demo/shipped-folder.js'
import { makeOracle } from '../oracle/make-oracle.js'
import type { LocalForkPool } from './forks.js'
import { planInterventions } from './interventions.js'
import { searchedSteps, searchRun } from './search-run.js'
import type { Options } from '../command-line/verb.js'
import { makePool } from './read-search.js'

const FILES = ['agent.mjs', 'faults.mjs', 'simulator.mjs']

/** A fault planted in an agent that comes with the package. */
interface Planted {
  readonly steps: number
  readonly truth: readonly number[]
  readonly echoes?: readonly number[]
  readonly backUps?: readonly (readonly number[])[]
}

type Validated = Awaited<ReturnType<typeof validateFault>>

/**
 * Records small agents with known faults, blames them through real forks, and
 * compares. In the control nothing is to blame: whoever is named there is innocent.
 */
async function validateBlame(
  pool: LocalForkPool,
  signal: AbortSignal,
  onFault: () => void,
): Promise<Validated[]> {
  const folder = copyShippedAside('validate', FILES)
  try {
    const { href } = pathToFileURL(path.resolve(folder.pathOf('faults.mjs')))
    const { FAULTS } = (await import(href)) as { FAULTS: Record<string, Planted> }
    // All in one pool: a single search sometimes waits for one fork.
    return await Promise.all(
      Object.entries(FAULTS).map(async ([name, planted]) => {
        const validated = await validateFault(folder, name, planted, pool, signal)
        onFault()
        return validated
      }),
    )
  } finally {
    folder.remove()
  }
}

/** Blames one planted failure; planted and found causes are in the same words. */
async function validateFault(
  folder: ShippedFolder,
  name: string,
  planted: Planted,
  pool: LocalForkPool,
  signal: AbortSignal,
) {
  const recording = await recordShipped(folder, 'agent.mjs', { args: [name] })
  const tape = openTape(recording.tape)
  const steps = searchedSteps(tape)
  const simulator = path.resolve(folder.pathOf('simulator.mjs'))
  const { findings, facts } = await searchRun({
    tape,
    steps,
    oracle: await makeOracle('stdout:PASSED', { recorded: tape }),
    free: [],
    interventions: planInterventions(tape, steps, [], { simulator }),
    env: {},
    seed: 1,
    pool,
    maxForks: 300,
    timeoutMs: 30_000,
    signal,
  })
  const wanted = describedAs(planted.truth, planted.echoes, planted.backUps)
  const found = foundText(findings)
  return {
    name,
    isRight: wanted === found,
    planted: wanted,
    found,
    forks: findings.forks.asked,
    wallMs: facts.wallMs,
  }
}

function foundText(findings: BlameFindings): string {
  const { verdict, steps } = findings
  const [first = [], ...others] = verdict === 'attributed' ? causeIndexes(findings) : []
  const echoes = steps.flatMap(({ role }, index) => (role === 'echo' ? [index] : []))
  return describedAs(first, echoes, others)
}

function describedAs(
  cause: readonly number[],
  echoes: readonly number[] = [],
  backUps: readonly (readonly number[])[] = [],
): string {
  const labels = (steps: readonly number[]): string => steps.map((step) => step + 1).join(' + ')
  return [
    cause.length === 0 ? 'nobody' : labels(cause),
    ...echoes.map((step) => `echo ${step + 1}`),
    ...backUps.map((steps) => `back-up ${labels(steps)}`),
  ].join(', ')
}

/** `retake blame --validate`: agents with known faults, blamed through real forks. Answers with the exit code. */
export async function runValidation(options: Options): Promise<number> {
  const interruption = new Interruption()
  const progress = new Progress('recording agents with known faults')
  try {
    let done = 0
    const validated = await validateBlame(
      makePool(options.number('jobs', { least: 1, most: 256 })),
      interruption.signal,
      () => progress.say(`${++done} planted failures blamed`),
    )
    progress.stop()
    interruption.throwIfAny()
    const isGood = validated.every(({ isRight }) => isRight)
    options.print({ good: isGood, faults: validated }, (look) => validatedLines(validated, look))
    return isGood ? 0 : 1
  } finally {
    progress.stop()
    interruption.stop()
  }
}

function validatedLines(validated: readonly Validated[], look: Look): string[] {
  const { paint, width } = look
  const right = validated.filter(({ isRight }) => isRight).length
  const forks = validated.reduce((sum, each) => sum + each.forks, 0)
  const wallMs = Math.max(0, ...validated.map((each) => each.wallMs))
  const isGood = right === validated.length
  return [
    `${paint(isGood ? 'green' : 'red', isGood ? 'valid' : 'not valid')} · ${right} of ${validated.length} as planted · ${forks} forks · ${duration(wallMs)}`,
    '',
    ...table(
      [
        ['planted failure', 'to blame', 'forks', 'blamed'],
        ...validated.map((each) => [
          each.name,
          each.planted,
          String(each.forks),
          each.isRight ? each.found : `${each.found}  WRONG`,
        ]),
      ],
      width,
    ),
  ]
}
