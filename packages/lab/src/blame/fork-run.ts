import { Deadline } from '@retake/tape/format'
import { mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { ChildPlan, ContinueReport, Divergence, FreeAnswer, PinnedPlan } from '@retake/engine'
import { childReportPath, childTapePath } from '@retake/engine/runs'
import { planPinned } from '@retake/engine/plans'
import { RetakeError } from '@retake/engine/errors'
import {
  clipText,
  messageText,
  originOf,
  type RecordedError,
  type Step,
  type StepKind,
  type Tape,
  defined,
  sumKnown,
  retryAfterMs,
  attempt,
} from '@retake/tape'
import { openTape } from '@retake/tape/node'
import { continueAgent, type Continued } from '@retake/runner/agent'
import { readOutcome, type RunOutcome } from '@retake/runner/oracle'
import { viewRun, spentTokens } from '@retake/runner/runs'
import type { Breakage } from '../texts/breakage.js'
import type { ForkJob } from './forks.js'
import { canonicalFindings, stepValue, valueOfResult } from './findings.js'
import { recordedAnswer } from './build-answer.js'
import { inferredResult, inferredTools } from './inferred-tools.js'
import type { ModelSamples } from './process-tree.js'
import { callKeyOf } from './siblings.js'
import { isDeepStrictEqual } from 'node:util'
import { createHash } from 'node:crypto'

/** Too many requests, and other statuses of busy servers. */
const BUSY: ReadonlySet<number> = new Set([429, 503, 529])

/**
 * Detects that a provider rate-limited a fork: the last live answer of an address says that it is
 * busy. The outcome of such a run means nothing. A successful retry does not count, nor an address
 * that was busy in the recorded run.
 */
export function wasRateLimited(
  tape: Tape,
  recorded: Tape,
): { readonly retryAfterMs?: number } | undefined {
  const last = lastAnswers(viewRun(tape).recordedSteps)
  const busy = [...last].filter(
    ([, step]) => isBusy(step) && ['live', undefined].includes(originOf(tape, step)),
  )
  if (busy.length === 0) return undefined
  const before = lastAnswers(viewRun(recorded).recordedSteps)
  const turnedAway = busy.filter(([address]) => !isBusy(before.get(address)))
  if (turnedAway.length === 0) return undefined
  const waits = turnedAway.flatMap(
    ([, step]) => retryAfterMs(step.exchange()?.response?.headers ?? [], Date.now()) ?? [],
  )
  return waits.length === 0 ? {} : { retryAfterMs: Math.max(...waits) }
}

/** The last answered step of each address. */
const lastAnswers = (steps: readonly Step[]): Map<string, Step> =>
  new Map(
    steps
      .filter((step) => step.exchange()?.response !== undefined)
      .map((step) => [addressOf(step), step]),
  )

const isBusy = (step: Step | undefined): boolean =>
  BUSY.has(step?.exchange()?.response?.status ?? 0)

const REQUEST_EVENTS: ReadonlySet<StepKind> = new Set(['model', 'http', 'mcp'])
/** Statuses for missing access or payment, which do not answer the request. */
const REFUSED: ReadonlySet<number> = new Set([401, 402, 403, 407])

/**
 * Why the outcome of a fork means nothing: a live request was not answered, because a provider is
 * down, a key has expired, or a model rejects the conversation with pinned answers in it.
 * Successful retries do not count, nor requests that failed the same way in the recorded run.
 */
export function whyUnanswered(tape: Tape, recorded: Tape): Breakage | undefined {
  const known = new Set(
    viewRun(recorded).recordedSteps.flatMap((step) => {
      const why = whyNot(step)
      return why === undefined ? [] : [`${addressOf(step)} ${why}`]
    }),
  )
  const last = new Map<string, Step>()
  for (const step of viewRun(tape).recordedSteps) {
    if (!REQUEST_EVENTS.has(step.kind) || step.state === 'aborted') continue
    // Equal for a retry of the same request.
    const { body = new Uint8Array(0), url = '' } = step.exchange()?.request ?? {}
    const hash = createHash('sha256').update(url).update(body).digest('hex')
    last.set(`${addressOf(step)} ${hash}`, step)
  }
  for (const step of last.values()) {
    if (originOf(tape, step) !== 'live') continue
    const why = whyNot(step)
    const address = addressOf(step)
    if (why !== undefined && !known.has(`${address} ${why}`))
      return { code: 'unanswered', address, why }
  }
  return undefined
}

function addressOf(step: Step): string {
  const request = step.exchange()?.request
  return request === undefined ? step.title : `${request.method} ${request.url.split(/[?#]/)[0]}`
}

function whyNot(step: Step): string | undefined {
  const status = step.exchange()?.response?.status
  if (status !== undefined) {
    const isRefused = status >= 500 || REFUSED.has(status)
    return isRefused || (step.kind === 'model' && status >= 400) ? `status ${status}` : undefined
  }
  return codeOf(step.failure)
}

/** Network errors have a code; errors made up by a simulator have none. */
function codeOf({ code, cause }: Partial<RecordedError> = {}): string | undefined {
  return code === undefined ? cause && codeOf(cause) : String(code)
}

/** Result of one fork, before it is judged. */
export interface ForkRun {
  readonly outcome: RunOutcome
  /** Set if the fork broke, so that no oracle is needed. */
  readonly broke?: Breakage
  /** Set if the part that must be as recorded differs: the program has changed. */
  readonly changed?: Divergence
  /** Set if a provider rejected a request because there were too many. */
  readonly rateLimit?: { readonly retryAfterMs?: number }
  /** By label, the value of each recorded step; steps that did not happen are missing. */
  readonly values: Readonly<Record<string, string>>
  /** By label, the answers of the steps that were free. */
  readonly answers: Readonly<Record<string, StepAnswer>>
  /** Number of steps that ran again. */
  readonly liveSteps: number
  /** New answers of models. */
  readonly samples: ModelSamples
  /** Number of steps that got an answer from an earlier run of this fork. */
  readonly sampled: number
  /** Number of recorded answers given to a changed request. */
  readonly forced: number
  /** Labels of steps with effects that got their recorded answer, although their arguments differed. */
  readonly assumed: readonly string[]
  readonly tokens: number
  /** Missing if the cost of a live step is unknown. */
  readonly costUsd?: number
  /** Path of its tape, valid until `remove`. */
  readonly tape?: string
  /** Deletes its files. */
  remove(): void
}

export interface StepAnswer {
  /** The answer in a form that can be given to another fork; missing if impossible. */
  readonly given?: FreeAnswer
  readonly said: StepDescription
}

/** A step in words, for findings. Long texts are clipped. */
export interface StepDescription {
  /** The tool it ran, or the first tool the model called. */
  readonly tool?: string
  /** Arguments of that tool, as JSON. */
  readonly arguments?: string
  /** Words of a model, or the result of a tool; JSON unless it is text. */
  readonly text: string
}

const SAID_LENGTH = 2000

export function describeAnswer(step: Step): StepDescription {
  const call = step.call() ?? step.mcp()
  const [called] = step.toolCalls
  const tool = called?.name ?? step.toolName
  const args = called === undefined ? step.call()?.args : called.args
  const exchange = step.exchange()
  const text =
    step.failure?.message ??
    (step.kind === 'model'
      ? step.answer().map(messageText).join('\n')
      : call === undefined
        ? (exchange?.response?.text ?? '')
        : asText(call.result))
  return {
    ...(tool !== undefined && { tool }),
    ...(tool !== undefined &&
      args !== undefined && { arguments: clipText(asText(args), SAID_LENGTH) }),
    text: clipText(text, SAID_LENGTH),
  }
}

const asText = (value: unknown): string =>
  typeof value === 'string' ? value : canonicalFindings(value)

const NOTHING_HAPPENED = {
  outcome: { stdout: '', ended: false },
  values: {},
  answers: {},
  liveSteps: 0,
  samples: {},
  sampled: 0,
  forced: 0,
  assumed: [],
  tokens: 0,
}

/** Runs one fork as a local process, with its tape in a temporary folder. */
export async function runFork(job: ForkJob, signal: AbortSignal): Promise<ForkRun> {
  const tape = openTape(job.tape)
  const folder = mkdtempSync(path.join(realpathSync(tmpdir()), 'retake-fork-'))
  const remove = (): void => rmSync(folder, { recursive: true, force: true })
  using deadline = new Deadline({ ms: job.timeoutMs, signals: [signal] })
  const late = (): Breakage | undefined =>
    deadline.isPast ? { code: 'timeout', seconds: job.timeoutMs / 1000 } : undefined
  try {
    const { root } = job
    const plan = { ...planPinned(tape, { ...job.plan, folder }), ...defined({ root }) }
    const continued = await continueAgent(tape, plan, {
      stdio: 'ignore',
      env: job.env,
      stopped: deadline.signal,
    })
    signal.throwIfAborted()
    return { ...readFork(tape, job.plan, continued, late()), remove }
  } catch (error) {
    remove()
    signal.throwIfAborted()
    if (!(error instanceof RetakeError) || error.code !== 'REPLAY_WITHOUT_REPORT') throw error
    return { ...NOTHING_HAPPENED, broke: late() ?? { code: 'crashed' }, remove }
  }
}

type ReadFork = Omit<ForkRun, 'remove'>

function readFork(
  parent: Tape,
  plan: PinnedPlan,
  continued: Pick<Continued, 'divergences' | 'isLive' | 'pinned' | 'tape'>,
  late: Breakage | undefined,
): ReadFork {
  const { divergences, isLive, pinned } = continued
  const [divergence] = divergences
  const nothing = { ...NOTHING_HAPPENED, ...NOTHING_SPENT }
  if (divergence !== undefined && !isLive) return { ...nothing, changed: divergence }
  if (!isLive) return { ...nothing, broke: late ?? { code: 'ended-early' } }
  const tape = openTape(continued.tape)
  const view = viewRun(tape)
  const unasked = new Set([...plan.pinned, ...Object.keys(plan.answers ?? {})])
  const matched = pinned?.matched ?? {}
  const values: Record<string, string> = {}
  const answers: Record<string, StepAnswer> = {}
  const bySeq = new Map(view.recordedSteps.map((step) => [step.seq, step]))
  for (const { label, seq } of viewRun(parent).recordedSteps) {
    const now = bySeq.get(matched[label] ?? (seq < tape.ownFrom ? seq : -1))
    if (now === undefined) continue
    values[label] = stepValue(now)
    if (unasked.has(label)) continue
    const given = recordedAnswer(tape, now)
    answers[label] = { ...(given && { given }), said: describeAnswer(now) }
  }
  // Matches an unwrapped tool by its arguments, or else the first call of that name.
  const inferred = view.steps.filter((step) => step.inferred)
  for (const step of inferredTools(viewRun(parent))) {
    const key = callKeyOf(parent, step)
    const now =
      inferred.find((each) => callKeyOf(tape, each) === key) ??
      inferred.find(({ toolName }) => toolName === step.toolName)
    if (now === undefined) continue
    const { args } = now.call() ?? {}
    const seen = plan.results?.find(
      (result) => result.tool === now.toolName && isDeepStrictEqual(result.args, args),
    )
    const payload =
      seen === undefined
        ? inferredResult(now)
        : attempt(() => JSON.parse(seen.content) as unknown, seen.content)
    values[step.label] = valueOfResult(payload)
    const said = { ...describeAnswer(now), text: asText(payload) }
    answers[step.label] = { given: { payload }, said }
  }
  const answered = new Set(
    Object.entries(matched).flatMap(([label, seq]) =>
      unasked.has(label) || pinned?.sampled.includes(label) ? [seq] : [],
    ),
  )
  const live = view.recordedSteps.filter(
    (step) => originOf(tape, step) === 'live' && !answered.has(step.seq),
  )
  const models = pinned?.live === 0 ? [] : live.filter(({ kind }) => kind === 'model')
  const rateLimit = pinned?.live === 0 ? undefined : wasRateLimited(tape, parent)
  const broken = pinned?.broken
  const broke: Breakage | undefined =
    late ??
    (broken && { code: 'no-answer', what: broken.what, effect: broken.effect }) ??
    (divergence && { code: 'diverged', summary: divergence.summary }) ??
    (pinned?.live === 0 ? undefined : whyUnanswered(tape, parent))
  const own: ReadFork = {
    outcome: readOutcome(tape),
    ...(broke !== undefined && { broke }),
    ...(rateLimit && { rateLimit }),
    values,
    answers,
    forced: pinned?.forced.length ?? 0,
    assumed: pinned?.assumed ?? [],
    samples: { '': samplesOf(tape, view.recordedSteps, pinned?.sent ?? []) },
    sampled: pinned?.sampled.length ?? 0,
    tape: continued.tape,
    tokens: models.reduce((sum, step) => sum + spentTokens(step), 0),
    ...defined({ costUsd: sumKnown(models.map(({ costUsd }) => costUsd)) }),
    liveSteps: pinned?.live ?? live.length,
  }
  return Object.entries(plan.children ?? {}).reduce((sum, [label, child]) => {
    const op = matched[label]
    return op === undefined ? sum : withChild(sum, label, readChild(child, continued.tape, op))
  }, own)
}

/** Answers of models to requests that were sent unchanged. */
function samplesOf(
  tape: Tape,
  steps: readonly Step[],
  sent: readonly number[],
): Record<string, FreeAnswer[]> {
  const samples: Record<string, FreeAnswer[]> = {}
  for (const step of steps.filter(({ kind, seq }) => kind === 'model' && sent.includes(seq))) {
    const key = callKeyOf(tape, step)
    const answer = recordedAnswer(tape, step)
    if (key !== undefined && answer !== undefined && 'payload' in answer)
      (samples[key] ??= []).push(answer)
  }
  return samples
}

function readChild({ tape, plan }: ChildPlan, forkTape: string, op: number): ReadFork {
  const file = childTapePath(forkTape, op)
  const report = attempt(
    () => JSON.parse(readFileSync(childReportPath(file), 'utf8')) as ContinueReport & Continued,
  )
  const nothing = { ...NOTHING_HAPPENED, ...NOTHING_SPENT }
  if (report === undefined) return { ...nothing, broke: { code: 'process-crashed' } }
  // A process without recorded operations has no tape.
  return report.isLive
    ? readFork(openTape(tape), plan, { ...report, tape: file }, undefined)
    : nothing
}

/** Adds the steps of a process, under its labels. */
function withChild(fork: ReadFork, label: string, child: ReadFork): ReadFork {
  const prefixed = <T>(values: Readonly<Record<string, T>>): Record<string, T> =>
    Object.fromEntries(Object.entries(values).map(([key, value]) => [`${label}:${key}`, value]))
  const { costUsd: _costUsd, ...own } = fork
  const { broke = child.broke, rateLimit = child.rateLimit, changed = child.changed } = fork
  return {
    ...own,
    ...defined({ broke, rateLimit, changed }),
    values: { ...fork.values, ...prefixed(child.values) },
    answers: { ...fork.answers, ...prefixed(child.answers) },
    forced: fork.forced + child.forced,
    assumed: [...fork.assumed, ...child.assumed.map((inner) => `${label}:${inner}`)],
    liveSteps: fork.liveSteps + child.liveSteps,
    samples: { ...fork.samples, ...prefixed(child.samples) },
    sampled: fork.sampled + child.sampled,
    tokens: fork.tokens + child.tokens,
    ...defined({ costUsd: sumKnown([fork.costUsd, child.costUsd]) }),
  }
}

const NOTHING_SPENT = { tokens: 0, costUsd: 0 }
