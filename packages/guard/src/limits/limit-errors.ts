import { type Denial, denialTable, notStarted } from '../denials/guard-error.js'
import { toUsd } from './amount.js'

const usd = (nanoUsd: number): string => `$${toUsd(nanoUsd)}`
const seconds = (ms: number): string => `${Math.ceil(ms / 100) / 10} s`

/** The rest of a budget, and the part that earlier runs spent. */
interface Rest {
  readonly left: number
  /** Spending of earlier runs that this one continues. */
  readonly earlier: number
}

const spentEarlier = (amount: string): string =>
  ` The earlier runs that this one continues have spent ${amount}.`

/** `limits/calls` of a run, or `limits/tools/search/calls` of a tool. */
const ruleOf = (scope: string, limit: string): string => `limits/${scope}${limit}`

export const limitErrors = denialTable({
  LIMIT_CALLS: (tool: string, scope: string, cap: number) => [
    ruleOf(scope, 'calls'),
    notStarted(tool),
    `All ${cap} allowed calls have been made.`,
    'End the run here, or raise the limit "calls".',
    'calls',
  ],
  LIMIT_CONCURRENCY: (tool: string, scope: string, concurrency: number, queue: number) => [
    ruleOf(scope, 'queue'),
    notStarted(tool),
    `${concurrency} calls are running and ${queue} are waiting, which is the limit.`,
    'Call it again when some have ended, or raise the limit "queue".',
    'concurrency',
  ],
  LIMIT_TOKENS: (tool: string, scope: string, requested: number, { left, earlier }: Rest) => [
    ruleOf(scope, 'tokens'),
    notStarted(tool),
    `It may use ${requested} tokens, but only ${left} are left.${earlier > 0 ? spentEarlier(`${earlier} tokens`) : ''}`,
    `Make a call that needs at most ${left} tokens, or raise the limit "tokens".`,
    'tokens',
  ],
  LIMIT_COST: (tool: string, scope: string, requested: number, { left, earlier }: Rest) => [
    ruleOf(scope, 'costUsd'),
    notStarted(tool),
    `It may cost ${usd(requested)}, but only ${usd(left)} is left.${earlier > 0 ? spentEarlier(usd(earlier)) : ''}`,
    `Make a call that costs at most ${usd(left)}, or raise the limit "costUsd".`,
    'cost',
  ],
  LIMIT_COST_PER_MINUTE: (
    tool: string,
    scope: string,
    requested: number,
    { left, earlier }: Rest,
    waitMs: number | undefined,
  ) => [
    ruleOf(scope, 'costUsdPerMinute'),
    notStarted(tool),
    `It may cost ${usd(requested)}, but only ${usd(left)} is left for this minute.${earlier > 0 ? spentEarlier(`${usd(earlier)} of it`) : ''}`,
    `Call it again ${waitMs === undefined ? 'when running calls have ended' : `in ${seconds(waitMs)}`}, or raise the limit "costUsdPerMinute".`,
    'cost-per-minute',
  ],
  RESERVE_TOKENS_MISSING: (tool: string, scope: string) => [
    ruleOf(scope, 'tokens'),
    notStarted(tool),
    '"tokens" is limited, and the tool does not declare how many a call may use.',
    'Give it `reserve: { outputTokens: … }`, or `effects` without "spend" if it uses none.',
    'tokens',
  ],
  RESERVE_COST_MISSING: (tool: string, scope: string) => [
    ruleOf(scope, 'costUsd'),
    notStarted(tool),
    '"costUsd" is limited, and the tool does not declare how much a call may cost.',
    'Give it `reserve: { costUsd: … }`, or `effects` without "spend" if it costs nothing.',
    'cost',
  ],
  LIMIT_RESERVE_INVALID: (tool: string, why: string) => [
    'limits/reserve',
    notStarted(tool),
    `Its reservation is not valid: ${why}.`,
    'Set `reserve` to numbers of at least 0, or to a function that returns them.',
    'cost',
  ],
  LIMIT_USAGE_INVALID: (who: string, why: string) => [
    'limits/usage',
    `${who} reported a usage that is not valid.`,
    `${why.charAt(0).toUpperCase()}${why.slice(1)}.`,
    'Pass `{ inputTokens, outputTokens, costUsd }`, or some of them, with numbers of at least 0.',
  ],
  LIMITS_INVALID: (where: string, problem: string) => [
    `limits/${where}`,
    `The limits of the guard are not valid${where === '' ? '' : ` at "${where}"`}.`,
    problem,
    `Correct \`limits${where === '' ? '' : `.${where}`}\`.`,
  ],
  /** `round` is the number of calls that are repeated. */
  LIMIT_LOOP: (tool: string, round: number, repeats: number) => [
    'limits/repeats',
    notStarted(tool),
    `The same ${round === 1 ? 'call' : `${round} calls`} had the same outcome ${repeats} times in a row.`,
    'Use other arguments or another tool.',
    'loop',
  ],
  CIRCUIT_OPEN: (tool: string, failures: number, waitMs: number) => [
    'limits/breaker',
    notStarted(tool),
    `It failed ${failures} times in a row.`,
    `Call it again in ${seconds(waitMs)}.`,
    'circuit-open',
  ],
  CIRCUIT_HALF_OPEN: (tool: string, failures: number) => [
    'limits/breaker',
    notStarted(tool),
    `It failed ${failures} times in a row, and a trial call is running.`,
    'Call it again after the trial call has ended.',
    'circuit-open',
  ],
  LIMIT_TIMEOUT: (tool: string, ms: number) => [
    'limits/timeoutMs',
    `Tool "${tool}" timed out after ${ms} ms.`,
    'It did not answer in time. It may have had its effect.',
    'Request less per call, or raise "timeoutMs".',
    'timeout',
  ],
  LIMIT_DEADLINE: (tool: string, ms: number) => [
    'limits/deadlineMs',
    `Tool "${tool}" timed out after ${ms} ms.`,
    'It did not answer in time, counting all attempts. It may have had its effect.',
    'Request less per call, or raise "deadlineMs".',
    'timeout',
  ],
  CALL_ABORTED: (tool: string) => [
    'guard/signal',
    notStarted(tool),
    'The caller aborted the call.',
    'Call it again if the result is still needed.',
    'aborted',
  ],
  CALL_CANCELLED: (tool: string) => [
    'guard/signal',
    `Tool "${tool}" was cancelled while it ran.`,
    'The caller aborted the call. It may have had its effect.',
    'Call it again if the result is still needed.',
    'aborted',
  ],
  LIMIT_OUTPUT_SIZE: (
    tool: string,
    cap: number,
    size: number | undefined,
    what: 'result' | 'error' = 'result',
  ) => [
    'limits/outputBytes',
    `The ${what} of tool "${tool}" is not returned.`,
    `It has ${size === undefined ? 'more than' : `${size} bytes; the limit is`} ${cap} bytes.`,
    'Request less per call, such as one page, or raise the limit "outputBytes".',
    'output-size',
  ],
  RETRIES_EXHAUSTED: (tool: string, attempts: number, why: string) => [
    'limits/retries',
    `Tool "${tool}" failed ${attempts} times.`,
    why,
    'Call it again later, or fix the cause.',
    'retries',
  ],
})

/** Without a time to wait, a trial call is running. */
export const circuitDenial = (tool: string, failures: number, waitMs = 0): Denial =>
  waitMs > 0
    ? limitErrors.CIRCUIT_OPEN(tool, failures, waitMs)
    : limitErrors.CIRCUIT_HALF_OPEN(tool, failures)
