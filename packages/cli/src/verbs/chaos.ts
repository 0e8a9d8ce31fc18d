import {
  DIR_OPTION,
  flag,
  number,
  openRun,
  type OptionValues,
  TRUST_OPTION,
  usageError,
  type Verb,
} from '../command-line/verb.js'
import { lookOf, Progress } from '../terminal/terminal.js'
import { renameSync, copyFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import path from 'node:path'
import { trustRecording, trustedRunsFile } from '@retake/engine'
import type { Tape } from '@retake/tape'
import {
  findRaces,
  type Judge,
  judgeByOracle,
  judgeByOutcome,
  outcomeOf,
  type Races,
  tryOrder,
} from '../chaos/find-races.js'
import { type RaceContext, raceLines } from '../chaos/race-lines.js'
import { cliErrors } from '../errors.js'
import { FOUND } from '../command-line/exit-codes.js'
import { askedOracle, ORACLE_OPTIONS } from '../oracle/make-oracle.js'
import type { Oracle } from '../oracle/oracle.js'
import { startOf } from '../agent/replay-command.js'
import { viewRun } from '../runs/view-run.js'

const SEEDS = 50
const SEEDS_MAX = 100_000

export default {
  arguments: '<run>',
  description: `Replays the program many times, each time delivering the recorded answers in another
order that could have happened, and reports every order that changes the outcome: exit code,
error, lines on stdout, or requests. Nothing leaves the process, so it costs nothing. Exit code
3 if such an order was found.`,
  options: {
    '--seeds <n>': `number of orders to try (default: ${SEEDS})`,
    '--seed <n>': 'try only this order, to reproduce a finding; 0 is the recorded order',
    ...ORACLE_OPTIONS,
    '--keep':
      'keep the tape of the smallest seed of each changed outcome, for retake replay, show and diff',
    '--jobs <n>': 'number of processes at a time (default: one per core)',
    ...TRUST_OPTION,
    ...DIR_OPTION,
    '--json': 'print the findings as JSON',
  },
  examples: [
    'retake chaos last',
    'retake chaos last --seeds 500',
    'retake chaos last --seed 17 --keep',
  ],
  async run(values, [name = '']) {
    const seeds = seedsOf(values)
    const jobs = number(values, 'jobs', { least: 1, most: 256 }) ?? availableParallelism()
    const oracle = await askedOracle(values)
    const tape = openRun(values, name)
    const progress = new Progress('')
    try {
      progress.say('the recorded order')
      const judge = await judgeFor(tape, oracle)
      const found = await findRaces(tape, {
        seeds,
        jobs,
        judge,
        onTried: (tried, changed) =>
          progress.say(
            `${tried} of ${seeds.length} orders${changed > 0 ? `, ${changed} changed` : ''}`,
          ),
      })
      const kept = flag(values, 'keep') ? await keepTapes(tape, found, seeds) : new Map()
      progress.stop()
      // `last` may mean another run by then.
      const again = name === 'last' ? tape.run.id : name
      const context: RaceContext = { tape, view: viewRun(tape), name: again, kept }
      console.log(
        flag(values, 'json')
          ? JSON.stringify(foundJson(found, context))
          : raceLines(found, context, lookOf(process.stdout)).join('\n'),
      )
      return found.races.length > 0 ? FOUND : 0
    } finally {
      progress.stop()
    }
  },
} satisfies Verb

/** In the recorded order the recorded outcome must come out, or other orders say nothing. */
async function judgeFor(tape: Tape, oracle: Oracle | undefined): Promise<Judge> {
  startOf(tape)
  const recorded = outcomeOf(tape)
  if (recorded.exitCode === undefined) throw cliErrors.RUN_HAS_NO_END(tape.run.id)
  const byOutcome = judgeByOutcome(recorded)
  const control = await byOutcome(await tryOrder(tape, { seed: 0 }))
  if (control.verdict !== 'same') {
    const [first] = control.differences
    throw cliErrors.RECORDED_ORDER_DIFFERS(
      tape.run.id,
      first ? shortened(`${first.what} ${first.now || first.recorded}`) : 'it differs',
    )
  }
  return oracle === undefined ? byOutcome : judgeByOracle(oracle, recorded)
}

const SHOWN_MAX = 80
const shortened = (text: string): string => {
  const [line = ''] = text.split('\n')
  return line.length > SHOWN_MAX ? `${line.slice(0, SHOWN_MAX)}…` : line
}

/** Runs the orders to keep once more: tapes of orders nobody asked for are thrown away. */
async function keepTapes(
  tape: Tape,
  { races }: Races,
  seeds: readonly number[],
): Promise<Map<number, string>> {
  const kept = new Map<number, string>()
  const wanted = seeds.length === 1 ? seeds : races.map((race) => race.order.seed)
  for (const seed of wanted) {
    await tryOrder(
      tape,
      { seed },
      {
        onTape: (file, id) => {
          const to = path.join(path.dirname(path.resolve(tape.path)), path.basename(file))
          moveFile(file, to)
          trustRecording(to, trustedRunsFile())
          kept.set(seed, id)
        },
      },
    )
  }
  return kept
}

function foundJson(found: Races, { tape, name, kept }: RaceContext): object {
  return {
    run: tape.run.id,
    orders: found.tried,
    reordered: found.reordered,
    changed: found.races.map(({ seeds, order, differences, decides }) => ({
      seeds,
      smallestSeed: order.seed,
      differences,
      ...(order.divergence && { divergence: order.divergence }),
      ...(decides && { decides }),
      command: `retake chaos ${name} --seed ${order.seed}`,
      ...(kept.has(order.seed) && { kept: kept.get(order.seed) }),
    })),
    outputOrderChanges: found.outputOrderChanges,
    unclear: found.unclear.map(({ seed, cutShort }) => ({ seed, cutShort })),
    ...(found.races.length === 0 && kept.size > 0 && { kept: Object.fromEntries(kept) }),
  }
}

function seedsOf(values: OptionValues): number[] {
  const seed = number(values, 'seed', { least: 0, most: Number.MAX_SAFE_INTEGER })
  const count = number(values, 'seeds', { least: 1, most: SEEDS_MAX })
  if (seed !== undefined && count !== undefined)
    throw usageError('Use either --seed or --seeds.', 'One seed is one order.')
  if (seed !== undefined) return [seed]
  return Array.from({ length: count ?? SEEDS }, (_, index) => index + 1)
}

function moveFile(from: string, to: string): void {
  try {
    renameSync(from, to)
  } catch {
    // Another file system.
    copyFileSync(from, to)
  }
}
