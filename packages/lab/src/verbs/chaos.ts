import { usageError, type Verb, PROGRAM_OPTIONS, FOUND } from '@retake/runner/command-line'
import {
  fromHere,
  type Look,
  printable,
  Progress,
  wrap,
  linesOf,
  leadLines,
} from '@retake/runner/terminal'
import { copyFileSync, renameSync } from 'node:fs'
import path from 'node:path'
import { trustedRunsFile, trustRecording } from '@retake/engine/runs'
import { clipText, type RunView, type Tape } from '@retake/tape'
import {
  deliveryName,
  findRaces,
  type RaceJudge,
  judgeByOracle,
  judgeByOutcome,
  type OutcomeDifference,
  outcomeOf,
  type Race,
  type Races,
  tryOrder,
} from '../chaos/find-races.js'
import { cliErrors } from '@retake/runner/errors'
import { givenOracle, ORACLE_OPTIONS, type Oracle } from '@retake/runner/oracle'
import { startOf } from '@retake/runner/agent'
import { viewRun } from '@retake/runner/runs'
import { plural } from '@retake/tape/present'

/** More lines of output are only counted. */
const SHOWN_MAX = 5

interface RaceContext {
  readonly tape: Tape
  readonly view: RunView
  readonly name: string
  /** Ids of the saved tapes, by seed. */
  readonly kept: ReadonlyMap<number, string>
}

function raceLines(found: Races, context: RaceContext, look: Look): string[] {
  const { paint } = look
  const { tried, reordered, races, outputOrderChanges, unclear } = found
  const facts = [
    plural(tried, 'order'),
    ...(reordered < tried ? [`${reordered} of them other than recorded`] : []),
    '0 requests',
  ].join(' · ')
  const calls = unclear.flatMap(({ cutShort }) => cutShort.map(({ what }) => what))
  const head =
    races.length > 0
      ? paint('red', plural(races.length, 'changed outcome'))
      : paint('green', 'no race found')
  return [
    `${head} · ${facts}`,
    ...races.flatMap((race) => ['', ...oneRace(race, context, look)]),
    // Tapes requested by seed although nothing changed.
    ...[...context.kept]
      .filter(([seed]) => races.every(({ order }) => order.seed !== seed))
      .map(([seed, id]) => `kept ${id} · seed ${seed}`),
    ...(outputOrderChanges > 0
      ? [
          '',
          `output order changes in ${plural(outputOrderChanges, 'order')}; the lines are the same`,
        ]
      : []),
    ...(unclear.length > 0
      ? [
          '',
          `${plural(unclear.length, 'order')} could not finish, because the tape ends during:`,
          ...[...new Set(calls)].slice(0, SHOWN_MAX).map((call) => `  ${printable(call)}`),
        ]
      : []),
    ...(reordered === 0 && tried > 1 ? ['', 'no steps of this run overlap'] : []),
  ]
}

function oneRace(race: Race, { tape, view, name, kept }: RaceContext, look: Look): string[] {
  const { paint, width } = look
  const { seeds, decides, order } = race
  const [seed = 0] = seeds
  const id = kept.get(seed)
  const site = order.divergence?.site
  const why = decides && [
    `${deliveryName(tape, view, decides.chosen)} came before`,
    deliveryName(tape, view, decides.passed),
  ]
  return linesOf(
    `${paint('bold', plural(seeds.length, 'order'))} · smallest seed ${seed}`,
    ...race.differences.slice(0, SHOWN_MAX).flatMap((one) => differenceLines(one, look)),
    ...more(race.differences.length - SHOWN_MAX, 'difference'),
    site !== undefined && `  at    ${paint('cyan', fromHere(site))}`,
    why && leadLines('  when  ', printable(why.join(' ')), width),
    `  again retake chaos ${name} --seed ${seed}${id === undefined ? ' --keep' : ''}`,
    id !== undefined && `  kept  ${id}`,
  )
}

function differenceLines(one: OutcomeDifference, { paint, width }: Look): string[] {
  const { what, recorded, now } = one
  if (what === 'request added') return ['  it sends other requests:', ...indented(now, width)]
  if (what === 'request missing') return ['  it does not send:', ...indented(recorded, width)]
  if (what !== 'stdout') return [`  ${what}: ${printable(recorded)} → ${printable(now)}`]
  const side = (sign: '-' | '+', text: string): string[] => {
    const lines = text === '' ? [] : text.split('\n')
    return [
      ...lines
        .slice(0, SHOWN_MAX)
        .map((line) => `  ${paint(sign === '-' ? 'red' : 'green', `${sign} ${printable(line)}`)}`),
      ...more(lines.length - SHOWN_MAX, 'line'),
    ]
  }
  return ['  stdout:', ...side('-', recorded), ...side('+', now)]
}

const indented = (text: string, width: number): string[] =>
  wrap(printable(text), width - 4).map((line) => `    ${line}`)

const more = (count: number, word: string): string[] =>
  count > 0 ? [`  and ${plural(count, `more ${word}`)}`] : []

const SEEDS = 50
const SEEDS_MAX = 100_000

export default {
  arguments: '<run>',
  description: `Replays the program many times, each time delivering the recorded answers in
another possible order, and reports every order that changes the outcome: exit code, error, lines
on stdout, or requests. Nothing leaves the process, so this costs nothing. Exit code 3 if the
outcome changed.`,
  options: {
    '--seeds <n>': `number of orders to try (default: ${SEEDS})`,
    '--seed <n>': 'try only this order, to reproduce a finding; 0 is the recorded order',
    ...ORACLE_OPTIONS,
    '--keep':
      'keep the tape of the smallest seed for each changed outcome, for retake replay, show and diff',
    '--jobs <n>': 'number of processes at a time (default: one per core)',
    ...PROGRAM_OPTIONS,
  },
  examples: [
    'retake chaos last',
    'retake chaos last --seeds 500',
    'retake chaos last --seed 17 --keep',
  ],
  async run(options, [name = '']) {
    const seed = options.number('seed')
    const count = options.number('seeds', { least: 1, most: SEEDS_MAX })
    if (seed !== undefined && count !== undefined)
      throw usageError('Use either --seed or --seeds.', 'One seed is one order.')
    const seeds =
      seed !== undefined ? [seed] : Array.from({ length: count ?? SEEDS }, (_, index) => index + 1)
    const jobs = options.jobs()
    const oracle = await givenOracle(options)
    const tape = options.openRun(name)
    using progress = new Progress()
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
    const kept = options.flag('keep') ? await saveTapes(tape, found, seeds) : new Map()
    progress.stop()
    // `last` may mean another run by now.
    const again = name === 'last' ? tape.run.id : name
    const context: RaceContext = { tape, view: viewRun(tape), name: again, kept }
    options.print(foundJson(found, context), (look) => raceLines(found, context, look))
    return found.races.length > 0 ? FOUND : 0
  },
} satisfies Verb

/** The recorded order must give the recorded outcome; otherwise other orders prove nothing. */
async function judgeFor(tape: Tape, oracle: Oracle | undefined): Promise<RaceJudge> {
  startOf(tape)
  const recorded = outcomeOf(tape)
  if (recorded.exitCode === undefined) throw cliErrors.RUN_HAS_NO_END(tape.run.id)
  const byOutcome = judgeByOutcome(recorded)
  const control = await byOutcome(await tryOrder(tape, { seed: 0 }))
  if (control.verdict !== 'same') {
    const [first] = control.differences
    throw cliErrors.RECORDED_ORDER_DIFFERS(
      tape.run.id,
      first
        ? clipText(`${first.what} ${first.now || first.recorded}`.split('\n')[0] ?? '', 81)
        : 'it differs',
    )
  }
  return oracle === undefined ? byOutcome : judgeByOracle(oracle, recorded)
}

/** Runs the orders again, because their tapes were deleted. */
async function saveTapes(
  tape: Tape,
  { races }: Races,
  seeds: readonly number[],
): Promise<Map<number, string>> {
  const kept = new Map<number, string>()
  const wanted = seeds.length === 1 ? seeds : races.map((race) => race.order.seed)
  for (const seed of wanted) {
    await tryOrder(tape, { seed }, (file, id) => {
      const to = path.join(path.dirname(path.resolve(tape.path)), path.basename(file))
      try {
        renameSync(file, to)
      } catch {
        // Another file system.
        copyFileSync(file, to)
      }

      trustRecording(to, trustedRunsFile())
      kept.set(seed, id)
    })
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
