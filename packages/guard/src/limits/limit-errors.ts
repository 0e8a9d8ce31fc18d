import type { Denial } from '../guard-error.js'
import { toUsd } from './amount.js'

const usd = (nanoUsd: number): string => `$${toUsd(nanoUsd)}`
const seconds = (ms: number): string => `${Math.ceil(ms / 100) / 10} s`

/** How much there is of something, and who used it. */
interface Rest {
  readonly left: number
  /** Spending of the runs that this one continues. */
  readonly earlier: number
}

const spentEarlier = (amount: string): string =>
  ` The earlier runs that this one continues have spent ${amount}.`

/** `limits/calls`, or `limits/tools/search/calls` of one tool. */
const ruleOf = (scope: string, limit: string): string => `limits/${scope}${limit}`

/** Every stop by a limit. Each code has a page in docs/errors. */
export const limitErrors = {
  calls: (tool: string, scope: string, cap: number): Denial => ({
    code: 'LIMIT_CALLS',
    rule: ruleOf(scope, 'calls'),
    what: `Tool "${tool}" was not started.`,
    why: `All ${cap} allowed calls have been made.`,
    allowed: 'End the run here, or raise the limit "calls".',
    exitReason: 'calls',
  }),
  queue: (tool: string, scope: string, concurrency: number, queue: number): Denial => ({
    code: 'LIMIT_CONCURRENCY',
    rule: ruleOf(scope, 'queue'),
    what: `Tool "${tool}" was not started.`,
    why: `${concurrency} calls are running and ${queue} are waiting, which is the limit.`,
    allowed: 'Call it again when some have ended, or raise the limit "queue".',
    exitReason: 'concurrency',
  }),
  tokens: (tool: string, scope: string, requested: number, { left, earlier }: Rest): Denial => ({
    code: 'LIMIT_TOKENS',
    rule: ruleOf(scope, 'tokens'),
    what: `Tool "${tool}" was not started.`,
    why: `It may use ${requested} tokens and ${left} are left.${earlier > 0 ? spentEarlier(`${earlier} tokens`) : ''}`,
    allowed: `Make a call that needs at most ${left} tokens, or raise the limit "tokens".`,
    exitReason: 'tokens',
  }),
  cost: (tool: string, scope: string, requested: number, { left, earlier }: Rest): Denial => ({
    code: 'LIMIT_COST',
    rule: ruleOf(scope, 'costUsd'),
    what: `Tool "${tool}" was not started.`,
    why: `It may cost ${usd(requested)} and ${usd(left)} are left.${earlier > 0 ? spentEarlier(usd(earlier)) : ''}`,
    allowed: `Make a call that costs at most ${usd(left)}, or raise the limit "costUsd".`,
    exitReason: 'cost',
  }),
  costPerMinute: (
    tool: string,
    scope: string,
    requested: number,
    { left, earlier }: Rest,
    waitMs: number | undefined,
  ): Denial => ({
    code: 'LIMIT_COST_PER_MINUTE',
    rule: ruleOf(scope, 'costUsdPerMinute'),
    what: `Tool "${tool}" was not started.`,
    why: `It may cost ${usd(requested)} and ${usd(left)} are left for this minute.${earlier > 0 ? spentEarlier(`${usd(earlier)} of it`) : ''}`,
    allowed:
      waitMs === undefined
        ? `Make a call that costs at most ${usd(left)}, or raise the limit "costUsdPerMinute".`
        : `Call it again in ${seconds(waitMs)}, or raise the limit "costUsdPerMinute".`,
    exitReason: 'cost-per-minute',
  }),
  notReserved: (tool: string, scope: string, of: 'tokens' | 'costUsd'): Denial => ({
    code: of === 'tokens' ? 'LIMIT_TOKENS' : 'LIMIT_COST',
    rule: ruleOf(scope, of),
    what: `Tool "${tool}" was not started.`,
    why: `"${of}" is limited, and the tool does not declare how much a call may use.`,
    allowed:
      of === 'tokens'
        ? 'Give it `reserve: { outputTokens: … }`, or `effects` without "spend" if it uses none.'
        : 'Give it `reserve: { costUsd: … }`, or `effects` without "spend" if it costs nothing.',
    exitReason: of === 'tokens' ? 'tokens' : 'cost',
  }),
  reserveInvalid: (tool: string, why: string): Denial => ({
    code: 'LIMIT_RESERVE_INVALID',
    rule: 'limits/reserve',
    what: `Tool "${tool}" was not started.`,
    why: `Its reservation is not valid: ${why}.`,
    allowed: 'Set `reserve` to numbers from 0, or a function that returns them.',
    exitReason: 'cost',
  }),
  usageInvalid: (who: string, why: string): Denial => ({
    code: 'LIMIT_USAGE_INVALID',
    rule: 'limits/usage',
    what: `${who} reported a usage that is not valid.`,
    why: `${why.charAt(0).toUpperCase()}${why.slice(1)}.`,
    allowed: 'Pass `{ inputTokens, outputTokens, costUsd }`, or some of them, with numbers from 0.',
  }),
  limitsInvalid: (where: string, problem: string): Denial => ({
    code: 'LIMITS_INVALID',
    rule: `limits/${where}`,
    what: `The limits of the guard are not valid${where === '' ? '' : ` at "${where}"`}.`,
    why: problem,
    allowed: 'Correct it.',
  }),
  loop: (tool: string, round: number, repeats: number): Denial => ({
    code: 'LIMIT_LOOP',
    rule: 'limits/repeats',
    what: `Tool "${tool}" was not started.`,
    why:
      round === 1
        ? `The same call had the same result ${repeats} times in a row.`
        : `The same ${round} calls had the same results ${Math.max(2, repeats)} times in a row.`,
    allowed: 'Use other arguments or another tool.',
    exitReason: 'loop',
  }),
  circuitOpen: (tool: string, failures: number, waitMs: number): Denial => ({
    code: 'CIRCUIT_OPEN',
    rule: 'limits/breaker',
    what: `Tool "${tool}" was not started.`,
    why: `It failed ${failures} times in a row.`,
    allowed:
      waitMs > 0
        ? `Call it again in ${seconds(waitMs)}.`
        : 'Call it again after the current trial call has ended.',
    exitReason: 'circuit-open',
  }),
  timeout: (tool: string, ms: number, of: 'timeoutMs' | 'deadlineMs'): Denial => ({
    code: 'LIMIT_TIMEOUT',
    rule: `limits/${of}`,
    what: `Tool "${tool}" was given up after ${ms} ms.`,
    why:
      of === 'timeoutMs'
        ? 'It did not answer in time. It may have had its effect.'
        : 'It did not answer in time, with all its attempts. It may have had its effect.',
    allowed: `Request less per call, or raise "${of}".`,
    exitReason: 'timeout',
  }),
  aborted: (tool: string, wasStarted: boolean): Denial => ({
    code: 'CALL_ABORTED',
    rule: 'guard/signal',
    what: wasStarted ? `Tool "${tool}" was given up.` : `Tool "${tool}" was not started.`,
    why: wasStarted
      ? 'The caller aborted the call. It may have had its effect.'
      : 'The caller aborted the call.',
    allowed: 'Call it again if the result is still needed.',
    exitReason: 'aborted',
  }),
  outputSize: (
    tool: string,
    cap: number,
    size: number | undefined,
    what: 'result' | 'error' = 'result',
  ): Denial => ({
    code: 'LIMIT_OUTPUT_SIZE',
    rule: 'limits/outputBytes',
    what: `The ${what} of tool "${tool}" is not returned.`,
    why: `It has ${size === undefined ? 'more than' : `${size} bytes and may have`} ${cap} bytes.`,
    allowed: 'Request less per call, such as one page, or raise the limit "outputBytes".',
    exitReason: 'output-size',
  }),
  retriesExhausted: (tool: string, attempts: number, why: string): Denial => ({
    code: 'RETRIES_EXHAUSTED',
    rule: 'limits/retries',
    what: `Tool "${tool}" failed ${attempts} times.`,
    why,
    allowed: 'Call it again later, or fix the cause.',
    exitReason: 'retries',
  }),
}
