import { clipText } from '@retake/tape'
import type { Check, WrongOracle } from '../check.js'
import type { Judgement, Verdict } from '../oracle.js'
import { askJudge } from './ask-judge.js'
import type { JudgeEndpoint } from './ask-judge.js'
import { DEFAULT_KEY_VARIABLE } from './judge-options.js'
import type { JudgeOptions } from './judge-options.js'
import { judgePrompt, readLetter } from './judge-prompt.js'
import type { FirstOption } from './judge-prompt.js'

/** Two requests, each perhaps after a wait. */
const TIMEOUT_MS = 120_000
const SHOWN_MAX = 60
const OPTIONS: readonly FirstOption[] = ['meets', 'fails']

/**
 * `judge:<question>`: a model says whether the output meets the criterion. It is asked
 * twice, with its two options in the other order; where it does not say the same, nobody
 * can tell. That keeps out a judge that guesses, not one that is wrong.
 */
export function judgeCheck(
  criterion: string,
  { judge, task }: { readonly judge: JudgeOptions; readonly task?: string },
  wrong: WrongOracle,
): Check {
  if (criterion.trim() === '')
    throw wrong(
      '"judge:" asks nothing.',
      "For example: --oracle 'judge:The customer is told why the refund was refused.'",
    )
  const endpoint = endpointOf(judge, wrong)
  return {
    key: `${endpoint.url} ${endpoint.model}`,
    timeoutMs: TIMEOUT_MS,
    prepare:
      () =>
      async ({ stdout, result }, signal) => {
        const output = result === undefined ? stdout : (JSON.stringify(result, undefined, 2) ?? '')
        const question = { criterion, output, ...(task !== undefined && { task }) }
        const said = await Promise.all(
          OPTIONS.map((first) => askJudge(endpoint, judgePrompt(question, first), signal)),
        )
        const votes = said.map((each, index) =>
          'text' in each ? voteOf(each.text, OPTIONS[index] ?? 'meets') : 'undefined',
        )
        return { ...verdictOf(votes, said.map(brokenText)), votes }
      },
  }
}

function endpointOf({ url, model, apiKeyEnv }: JudgeOptions, wrong: WrongOracle): JudgeEndpoint {
  if (url === undefined || model === undefined)
    throw wrong(
      'It is not said which model judges.',
      'Give --judge-url and --judge-model, or `judge: { url, model }` in retake.config.ts.',
    )
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    throw wrong(`"${url}" is no address of a judge.`, 'For example: http://127.0.0.1:11434/v1.')
  const key = process.env[apiKeyEnv ?? DEFAULT_KEY_VARIABLE]
  if (apiKeyEnv !== undefined && !key)
    throw wrong(
      `The variable ${apiKeyEnv} is not set.`,
      'The configuration says that it holds the key of the judge.',
    )
  return { url, model, ...(key && { key }) }
}

function voteOf(answer: string, first: FirstOption): Verdict {
  const letter = readLetter(answer)
  if (letter === undefined) return 'undefined'
  return (letter === 'A') === (first === 'meets') ? 'pass' : 'fail'
}

const brokenText = (said: Awaited<ReturnType<typeof askJudge>>): string =>
  'silent' in said
    ? said.silent
    : readLetter(said.text) === undefined
      ? `the judge answered ${JSON.stringify(clipText(said.text.trim(), SHOWN_MAX))}, neither A nor B`
      : ''

function verdictOf(votes: readonly Verdict[], broken: readonly string[]): Judgement {
  const [one = 'undefined', other] = votes
  const silent = broken.find((text) => text !== '')
  if (silent !== undefined) return { verdict: 'undefined', reason: silent }
  if (one === other) return { verdict: one, reason: `the judge says ${one}, in both orders` }
  return {
    verdict: 'undefined',
    reason: 'the judge says the opposite when its options are swapped',
  }
}
