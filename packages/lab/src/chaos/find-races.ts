import { mapConcurrent } from '@retake/tape'
import type { ChaosReport, Divergence, Swap } from '@retake/engine'
import { newRunId } from '@retake/engine/runs'
import {
  errorName,
  clipText,
  defined,
  isDelivery,
  type RunView,
  type Step,
  type Tape,
  type TapeEvent,
} from '@retake/tape'
import { type Judgement, type Oracle, readOutcome, type RunOutcome } from '@retake/runner/oracle'
import { existsSync } from 'node:fs'
import path from 'node:path'
import { openTape } from '@retake/tape/node'
import { Interrupted } from '@retake/runner/command-line'
import { TaskProcess, startOf } from '@retake/runner/agent'

/** A program that takes longer in one order is probably in an infinite loop. */
const TIMEOUT_MS = 60_000

interface Order {
  /** 0 is the recorded order. */
  readonly seed: number
  /** Number of choices before the recorded order continues. */
  readonly picks?: number
}

interface TriedOrder extends Omit<ChaosReport, 'divergences'> {
  readonly seed: number
  readonly divergence: Divergence | undefined
  readonly outcome: RaceOutcome
}

/** Runs the recorded program once, with its recorded answers in this order. Sends nothing. */
export async function tryOrder(
  tape: Tape,
  order: Order,
  onTape?: (file: string, id: string) => void,
): Promise<TriedOrder> {
  const id = newRunId()
  let file = ''
  using child = new TaskProcess(
    startOf(tape),
    (inside) => ({
      mode: 'chaos',
      source: path.resolve(tape.path),
      order,
      id,
      name: `${tape.run.name} (seed ${order.seed})`,
      tape: (file = inside(`${id}.tape`)),
      report: inside('report.json'),
    }),
    { isServed: true },
  )
  const end = await child.run({ stdio: 'ignore', timeoutMs: TIMEOUT_MS })
  if (end.interruptedBy) throw new Interrupted(end.interruptedBy)
  // A killed process leaves no report.
  const { divergences, ...report } = (child.read('report.json') ?? {
    ...NOTHING_REPORTED,
    exitCode: end.code,
  }) as ChaosReport
  const divergence = divergences[0]
  if (existsSync(file)) onTape?.(file, id)
  const outcome = existsSync(file) ? outcomeOf(openTape(file)) : NO_OUTCOME
  return { ...order, ...report, divergence, outcome }
}

const NO_OUTCOME: RaceOutcome = { stdout: '', writes: [], ended: false }
const NOTHING_REPORTED: Omit<ChaosReport, 'exitCode'> = {
  divergences: [],
  picks: 0,
  swaps: [],
  unasked: [],
  cutShort: [],
  contacts: {},
  wallMs: 0,
}

/** The part of an outcome that must not depend on the order of deliveries. */
export interface RaceOutcome extends Omit<RunOutcome, 'tape' | 'files'> {
  readonly writes: readonly string[]
  /** The value that `record()` returned, as stored on the tape. */
  readonly resultText?: string
}

export function outcomeOf(tape: Tape): RaceOutcome {
  // The tape of an order is removed before its outcome is judged.
  const { tape: _tape, files: _files, ...outcome } = readOutcome(tape)
  const writes: string[] = []
  let resultText: string | undefined
  for (const event of tape.events()) {
    const text = (): string => Buffer.from(tape.body(event.seq)).toString()
    if (event.type === 'output' && event.stream === 'stdout') writes.push(text())
    else if (event.type === 'end' && event.as) resultText = text()
  }
  return { ...outcome, writes, ...defined({ resultText }) }
}

export interface OutcomeDifference {
  /** `exit code`, `error`, `result`, `stdout`, `request added`, `request missing`, or `oracle`. */
  readonly what: string
  readonly recorded: string
  readonly now: string
}

function compareOutcomes(
  recorded: RaceOutcome,
  now: RaceOutcome,
): Pick<JudgedOrder, 'differences' | 'outputOrderDiffers'> {
  const differences: OutcomeDifference[] = []
  const compare = (what: string, before?: string | number, after?: string | number): void => {
    if (before !== after) differences.push({ what, recorded: text(before), now: text(after) })
  }
  compare('exit code', recorded.exitCode ?? recorded.signal, now.exitCode ?? now.signal)
  compare('error', errorText(recorded), errorText(now))
  compare('result', recorded.resultText, now.resultText)
  const before = recorded.stdout.split('\n')
  const after = now.stdout.split('\n')
  const isSame = recorded.stdout === now.stdout
  // Lanes that write parts of lines mix them, so compare single writes.
  if (!isSame && !isSameBag(before, after) && !isSameBag(recorded.writes, now.writes)) {
    differences.push({
      what: 'stdout',
      recorded: without(before, after).join('\n'),
      now: without(after, before).join('\n'),
    })
  }
  const isOtherOutput = differences.some(({ what }) => what === 'stdout')
  return { differences, outputOrderDiffers: !isSame && !isOtherOutput }
}

const errorText = ({ error }: RaceOutcome): string | undefined =>
  error && `${errorName(error)}: ${error.message}`
const text = (value: string | number | undefined): string => String(value ?? 'none')

const isSameBag = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.toSorted().join('\u0000') === b.toSorted().join('\u0000')

/** Lines that occur more often in `all` than in `others`. */
function without(all: readonly string[], others: readonly string[]): string[] {
  const counts = new Map<string, number>()
  for (const line of others) counts.set(line, (counts.get(line) ?? 0) + 1)
  return all.filter((line) => {
    const left = counts.get(line) ?? 0
    counts.set(line, left - 1)
    return left <= 0
  })
}

interface JudgedOrder extends TriedOrder {
  readonly verdict: 'same' | 'changed' | 'unclear'
  readonly differences: readonly OutcomeDifference[]
  /** True if the same was written in another order. */
  readonly outputOrderDiffers: boolean
}

export type RaceJudge = (tried: TriedOrder) => Promise<JudgedOrder>

/**
 * Compares with the recorded outcome: exit code, error, lines of stdout, requests. An order that
 * needs an answer that the recorded run gave up on cannot be judged.
 */
export const judgeByOutcome =
  (recorded: RaceOutcome): RaceJudge =>
  async (tried) => {
    const { divergence, unasked, cutShort, outcome } = tried
    if (divergence !== undefined) {
      const difference = { what: 'request added', recorded: '', now: divergence.summary }
      return { ...tried, verdict: 'changed', differences: [difference], outputOrderDiffers: false }
    }
    const compared = compareOutcomes(recorded, outcome)
    const notSent = unasked.map(({ what }) => ({
      what: 'request missing',
      recorded: what,
      now: '',
    }))
    const differences = [...compared.differences, ...notSent]
    const verdict = differences.length === 0 ? 'same' : cutShort.length > 0 ? 'unclear' : 'changed'
    return { ...tried, ...compared, verdict, differences }
  }

/** Judges by the user's oracle: an order counts if its verdict differs from the recorded run's. */
export async function judgeByOracle(oracle: Oracle, recorded: RaceOutcome): Promise<RaceJudge> {
  const judged = (outcome: RaceOutcome): Promise<Judgement> =>
    oracle(outcome, new AbortController().signal)
  const before = await judged(recorded)
  return async (tried) => {
    const { outputOrderDiffers } = compareOutcomes(recorded, tried.outcome)
    if (tried.divergence !== undefined || tried.cutShort.length > 0)
      return { ...tried, verdict: 'unclear', differences: [], outputOrderDiffers: false }
    const now = await judged(tried.outcome)
    const isUnclear = now.verdict === 'undefined' || before.verdict === 'undefined'
    if (isUnclear || now.verdict === before.verdict)
      return {
        ...tried,
        verdict: isUnclear ? 'unclear' : 'same',
        differences: [],
        outputOrderDiffers,
      }
    const flipped = { what: 'oracle', recorded: before.reason, now: now.reason }
    return { ...tried, verdict: 'changed', differences: [flipped], outputOrderDiffers }
  }
}

export interface Race {
  readonly seeds: readonly number[]
  readonly order: JudgedOrder
  readonly differences: readonly OutcomeDifference[]
  /** The two deliveries whose order decides, if found. */
  readonly decides?: Swap
}

export type Races = Awaited<ReturnType<typeof findRaces>>

/** With more outcomes than this, the decisive deliveries are not searched. */
const EXPLAINED_MAX = 5

export async function findRaces(
  tape: Tape,
  {
    seeds,
    jobs,
    judge,
    onTried,
  }: {
    readonly seeds: readonly number[]
    readonly jobs: number
    readonly judge: RaceJudge
    readonly onTried: (tried: number, found: number) => void
  },
) {
  const attempt = async (order: Order): Promise<JudgedOrder> => judge(await tryOrder(tape, order))
  let tried = 0
  let found = 0
  const orders = await mapConcurrent(seeds, jobs, async (seed) => {
    const order = await attempt({ seed })
    onTried(++tried, (found += Number(order.verdict === 'changed')))
    return order
  })
  const races: Race[] = []
  const groups = new Map<string, JudgedOrder[]>()
  for (const order of orders.filter(({ verdict }) => verdict === 'changed'))
    groups.set(keyOf(order), [...(groups.get(keyOf(order)) ?? []), order])
  for (const [index, alike] of [...groups.values()].entries()) {
    const order = alike[0]!
    const decides = index < EXPLAINED_MAX ? await decidingSwap(order, attempt) : undefined
    races.push({
      seeds: alike.map(({ seed }) => seed),
      order,
      differences: order.differences,
      ...(decides && { decides }),
    })
  }
  return {
    tried: orders.length,
    /** Number of orders that differ from the recorded one. */
    reordered: orders.filter(({ swaps }) => swaps.length > 0).length,
    races,
    outputOrderChanges: orders.filter((one) => one.verdict === 'same' && one.outputOrderDiffers)
      .length,
    /** Orders that could not be completed. */
    unclear: orders.filter(({ verdict }) => verdict === 'unclear'),
  }
}

const keyOf = ({ differences }: JudgedOrder): string => JSON.stringify(differences)

/** Bisects the number of choices made before the recorded order continues. */
async function decidingSwap(
  order: JudgedOrder,
  attempt: (order: Order) => Promise<JudgedOrder>,
): Promise<Swap | undefined> {
  const { swaps, seed } = order
  let unchanged = 0
  let changed = swaps.length
  while (changed - unchanged > 1) {
    const middle = (changed + unchanged) >> 1
    const picks = (swaps[middle - 1]?.pick ?? 0) + 1
    const tried = await attempt({ seed, picks })
    if (keyOf(tried) === keyOf(order)) changed = middle
    else unchanged = middle
  }
  return swaps[changed - 1]
}

/** A delivery in words: `the answer to step 3 (tool transfer)`. */
export function deliveryName(tape: Tape, view: RunView, seq: number): string {
  if (seq >= tape.count) return 'the end of local work'
  const event = tape.event(seq)
  if (!isDelivery(event)) return `event ${seq}`
  const step = stepOfDelivery(tape, view, seq)
  if (step !== undefined)
    return `${partOfAnswer(event)} step ${step.label} (${clipText(step.title, 40)})`
  const started = tape.event(event.op)
  if (started.type === 'timer')
    return started.kind === 'immediate' ? 'an immediate' : `the ${started.kind} of ${started.ms} ms`
  if (started.type === 'work') return `the end of ${started.name}`
  if (started.type === 'call') return `the answer to ${started.name}`
  if (started.type === 'socket') return `a part of a connection to ${started.host ?? started.path}`
  return `event ${seq}`
}

/** The step that a delivery answers; for a server's process, its latest message. */
export function stepOfDelivery(tape: Tape, view: RunView, seq: number): Step | undefined {
  const event = seq < tape.count ? tape.event(seq) : undefined
  return view.recordedSteps.findLast(
    (one) =>
      one.answerSeqs.includes(seq) ||
      (event !== undefined && isDelivery(event) && one.seq === event.op),
  )
}

function partOfAnswer(event: TapeEvent): string {
  if (event.type === 'response') return 'the start of the answer to'
  if (event.type !== 'deliver') return 'the answer to'
  return event.part === 'end' ? 'the end of the answer to' : 'a part of the answer to'
}
