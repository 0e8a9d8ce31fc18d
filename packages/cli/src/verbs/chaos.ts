import { renameSync, copyFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import path from 'node:path'
import { trustRecording, trustedRunsFile } from '@retake/engine'
import type { Tape } from '@retake/tape'
import { openTape } from '@retake/tape/node'
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
import { recordedOrderDiffers, runHasNoEnd } from '../errors/chaos.js'
import { wrongUsage } from '../errors/command-line.js'
import { FOUND } from '../command-line/exit-codes.js'
import { askedOracle, ORACLE_OPTIONS } from '../oracle/make-oracle.js'
import type { Oracle } from '../oracle/oracle.js'
import { painter, Progress, widthOf } from '../terminal/terminal.js'
import { startOf } from '../agent/replay-command.js'
import { RunStore } from '../runs/run-store.js'
import { TRUST_OPTION } from '../agent/trust.js'
import { flag, type OptionValues, text, type Verb } from '../command-line/verb.js'
import { viewRun } from '../runs/view-run.js'

const SEEDS = 50
const SEEDS_MAX = 100_000

export const chaos: Verb = {
  usage: '<run> [--seeds 50] [options]',
  help: `Runs the recorded program again and again with the answers of its tape, each time
in another order in which they could have come, and reports every order that
changes the outcome: exit code, error, the lines on stdout, or what is asked for.
Nothing leaves the process, so it costs nothing. Exit code 3 when one is found.

Options:
  --seeds <n>       how many orders to try (default: ${SEEDS})
  --seed <n>        only this one, to repeat what was found; 0 is the recorded order
  --oracle <check>  what counts, instead of the outcome: exit:0, stdout:/regex/,
                    json:path=value, a file, a shell command that gets stdout on
                    stdin, judge:question; not: before it turns it round
  --oracle-timeout <s>
                    longest time for one judgement (default: 30, for a judge 120)
  --judge-url <url>, --judge-model <name>
                    the model behind --oracle 'judge:…'
  --keep            keep the tape of the smallest seed of each changed outcome, for
                    retake replay, show and diff
  --jobs <n>        processes at a time (default: one per core)
  --trust           also start the program of a run from elsewhere
  --dir <folder>    where the tapes are (default: .retake/runs)
  --json            what was found as JSON

Examples:
  retake chaos last
  retake chaos last --seeds 500
  retake chaos last --seed 17 --keep`,
  options: {
    ...TRUST_OPTION,
    seeds: { type: 'string' },
    seed: { type: 'string' },
    ...ORACLE_OPTIONS,
    keep: { type: 'boolean' },
    jobs: { type: 'string' },
    dir: { type: 'string' },
  },
  async run(values, [name, ...rest]) {
    if (name === undefined || rest.length > 0)
      throw wrongUsage('chaos', 'Name one run.', 'For example: retake chaos last.')
    const seeds = seedsOf(values)
    const jobs = numberOf(values, 'jobs', 1, 256) ?? availableParallelism()
    const oracle = await askedOracle(values, { verb: 'chaos' })
    const tape = openTape(new RunStore(text(values, 'dir')).find(name))
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
          : raceLines(found, context, {
              paint: painter(process.stdout),
              width: widthOf(process.stdout),
            }).join('\n'),
      )
      return found.races.length > 0 ? FOUND : 0
    } finally {
      progress.stop()
    }
  },
}

/** In the recorded order the recorded outcome must come out, or other orders say nothing. */
async function judgeFor(tape: Tape, oracle: Oracle | undefined): Promise<Judge> {
  startOf(tape)
  const recorded = outcomeOf(tape)
  if (recorded.exitCode === undefined) throw runHasNoEnd(tape.run.id)
  const byOutcome = judgeByOutcome(recorded)
  const control = await byOutcome(await tryOrder(tape, { seed: 0 }))
  if (control.verdict !== 'same') {
    const [first] = control.differences
    throw recordedOrderDiffers(
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
  const seed = numberOf(values, 'seed', 0, Number.MAX_SAFE_INTEGER)
  const count = numberOf(values, 'seeds', 1, SEEDS_MAX)
  if (seed !== undefined && count !== undefined)
    throw wrongUsage('chaos', 'Say --seed or --seeds, not both.', 'One seed is one order.')
  if (seed !== undefined) return [seed]
  return Array.from({ length: count ?? SEEDS }, (_, index) => index + 1)
}

function numberOf(
  values: OptionValues,
  name: string,
  least: number,
  most: number,
): number | undefined {
  const given = text(values, name)
  if (given === undefined) return undefined
  const number = Number(given)
  if (/^\d+$/.test(given) && number >= least && number <= most) return number
  throw wrongUsage('chaos', `"${given}" is no number for --${name}.`, `It starts at ${least}.`)
}

function moveFile(from: string, to: string): void {
  try {
    renameSync(from, to)
  } catch {
    // Another file system.
    copyFileSync(from, to)
  }
}
