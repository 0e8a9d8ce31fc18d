import type { CauseSet } from '@retake/tape'
import type { FindingsFile, SearchedStep } from './findings-file.js'
import { labelRanges } from './step-ranges.js'

type Found = Pick<FindingsFile, 'steps' | 'findings'>

/** What a search came to, in one sentence. */
export function verdictSentence({ steps, findings }: Found): string {
  const { verdict, causes } = findings
  const why = reasonOf(findings.why)
  if (verdict === 'no attributable step') return `no step made it fail${why}`
  if (verdict === 'flaky') return `flaky${why}`
  if (verdict === 'inconclusive') return `not enough to tell${why}`
  const cause = causeSentence({ steps, findings })
  if (verdict === 'stopped')
    return causes.length === 0 ? `stopped${why}` : `stopped${why}; so far: ${cause}`
  return cause
}

/** A sentence as the end of another. That it was stopped is said by the verdict. */
function reasonOf(why: string | undefined): string {
  if (why === undefined || why === 'It was stopped.') return ''
  return `: ${why.charAt(0).toLowerCase()}${why.slice(1).replace(/\.$/, '')}`
}

function causeSentence({ steps, findings }: Found): string {
  const [first, ...others] = findings.causes
  if (first === undefined) return 'no cause was found'
  const echoes = findings.steps.flatMap(({ role }, index) => (role === 'echo' ? [index] : []))
  return [
    `${subject(steps, first.steps)} ${first.steps.length > 1 ? 'together ' : ''}made it fail`,
    ...(echoes.length === 0
      ? []
      : [`${numbered(steps, echoes)} only ${echoes.length === 1 ? 'repeats' : 'repeat'} it`]),
    ...others.map((other) => `${backUp(steps, other)} would have made it fail without that`),
  ].join('; ')
}

const backUp = (steps: readonly SearchedStep[], { steps: members }: CauseSet): string =>
  `${numbered(steps, members)}${members.length > 1 ? ' together' : ''}`

/** One step with its name; of several, each with its name after their numbers. */
function subject(steps: readonly SearchedStep[], members: readonly number[]): string {
  const names = members.map((index) => steps[index]?.name ?? '?')
  if (members.length === 1) return `${numbered(steps, members)}, ${names[0]},`
  return `${numbered(steps, members)} (${names.join(', ')})`
}

/** More than this many are told as ranges. */
const NAMED_MAX = 4

/** `step 4`, `steps 4 and 7`, `steps 4, 7 and 9`, `steps 4–11, 14`. */
export function numbered(steps: readonly SearchedStep[], indexes: readonly number[]): string {
  const all = steps.map(({ label }) => label)
  if (indexes.length > NAMED_MAX) return `steps ${labelRanges(indexes, all)}`
  const labels = indexes.map((index) => all[index] ?? '?')
  const last = labels.at(-1) ?? '?'
  const before = labels.slice(0, -1).join(', ')
  return labels.length === 1 ? `step ${last}` : `steps ${before} and ${last}`
}
