import type { BlamedStep, CauseSet, Probe, ProbePurpose, Rate, SpanFindings } from '@retake/tape'
import { duration } from '../terminal/duration.js'
import { cost, plural } from '../terminal/facts.js'
import {
  type Look,
  type Paint,
  printable,
  type Style,
  table,
  wrap,
  wrapFacts,
} from '../terminal/terminal.js'
import type { FindingsFile, SearchedStep } from './findings-file.js'
import { labelRanges, rangesToNumbers } from './step-value.js'
import type { ClassicView } from '@retake/diagnose'

/** `5 of 6  .42–.99`: failures among forks, and between which bounds the true rate is. */
function rateText(rate: Rate | undefined): string {
  if (rate === undefined || rate.forks === 0) return 'not tried'
  return `${rate.fails} of ${rate.forks}  ${bound(rate.low)}–${bound(rate.high)}`
}

const bound = (value: number): string =>
  value >= 0.995 ? '1' : value <= 0.005 ? '0' : value.toFixed(2).replace(/^0/, '')

/** How much of it fails, with what is not known about it: `████▒▒░░`. */
function bar(rate: Rate | undefined, width: number): string {
  if (rate === undefined || rate.forks === 0) return ' '.repeat(width)
  const low = Math.round(rate.low * width)
  const high = Math.max(low, Math.round(rate.high * width))
  return '█'.repeat(low) + '▒'.repeat(high - low) + '·'.repeat(width - high)
}

type Found = Pick<FindingsFile, 'steps' | 'findings'>

/** What a search came to, in one sentence. */
function verdictSentence({ steps, findings }: Found): string {
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
function numbered(steps: readonly SearchedStep[], indexes: readonly number[]): string {
  const all = steps.map(({ label }) => label)
  if (indexes.length > NAMED_MAX) return `steps ${labelRanges(indexes, all)}`
  const labels = indexes.map((index) => all[index] ?? '?')
  const last = labels.at(-1) ?? '?'
  const before = labels.slice(0, -1).join(', ')
  return labels.length === 1 ? `step ${last}` : `steps ${before} and ${last}`
}

const MEANINGS: Record<ProbePurpose, string> = {
  anchor: 'does it fail, and only with the recorded steps?',
  prefix: 'up to which step must be kept?',
  cause: 'is that enough, or must others be kept with it?',
  minimal: 'is each of them needed?',
  repair: 'does the rest pass without them?',
  echo: 'what only repeats it?',
  'back-up': 'would something else have made it fail?',
  audit: 'do coalitions that were not looked at agree?',
  confirm: 'is a contradiction real?',
  'one out': 'what does each single step do?',
  risk: 'where does the risk rise?',
}

/** Every question that was put to forks, as a tree: what it was for, what was kept, what they said. */
function evidenceLines({ findings, steps }: FindingsFile, look: Look): string[] {
  const labels = steps.map(({ label }) => label)
  const purposes = [...new Set(findings.evidence.map(({ purpose }) => purpose))]
  const lines = purposes.flatMap((purpose) => {
    const probes = findings.evidence.filter((probe) => probe.purpose === purpose)
    const rows = probes.map((probe, index) => probeRow(probe, labels, index === probes.length - 1))
    return [`${purpose}  ${look.paint('dim', MEANINGS[purpose])}`, ...table(rows, look.width)]
  })
  return lines.length === 0 ? [] : ['', look.paint('bold', 'evidence'), ...lines]
}

function probeRow(probe: Probe, labels: readonly string[], isLast: boolean): string[] {
  const { kept, mode, rate, undefinedForks, fails } = probe
  const numbers = rangesToNumbers(kept)
  const what =
    numbers.length === 0
      ? 'nothing kept'
      : numbers.length === labels.length
        ? 'everything kept'
        : `kept ${labelRanges(numbers, labels)}`
  return [
    `${isLast ? '└' : '├'} ${mode === 'frozen' ? `${what}, frozen` : what}`,
    fails === undefined ? 'open' : fails ? 'fails' : 'passes',
    rateText(rate) + (undefinedForks === 0 ? '' : `  ${undefinedForks} without a verdict`),
  ]
}

export interface BlameLinesOptions {
  /** Every question that was put to forks. */
  readonly evidence?: boolean
}

/** What a search for causes came to, for a person: the verdict first, then why. */
export function blameLines(
  found: FindingsFile,
  look: Look,
  { evidence = false }: BlameLinesOptions = {},
): string[] {
  const { paint, width } = look
  return [
    ...wrap(printable(verdictSentence(found)), width).map((line) => paint('bold', line)),
    ...wrapFacts(factLine(found), width),
    ...causeLines(found, look),
    ...stepLines(found, look),
    ...clearedLines(found, look),
    ...momentLines(found, look),
    ...repairLines(found, look),
    ...riskLines(found, look),
    ...(evidence ? evidenceLines(found, look) : []),
    ...(found.spans ? spanLines(found.spans, look) : []),
    ...(found.classic ? classicLines(found.classic, found.steps, look) : []),
    ...noteLines(found, look),
  ]
}

function factLine({ findings, facts, classic, spans }: FindingsFile): string {
  const { forks } = findings
  const asked = forks.asked + (classic?.forks ?? 0) + (spans?.forks.asked ?? 0)
  return [
    ...(findings.verdict === 'attributed'
      ? [`confidence ${percent(findings.confidence)} or more`]
      : []),
    `${plural(asked, 'fork')} (${facts.newForks} new)`,
    ...(forks.undefined === 0 ? [] : [`${forks.undefined} without a verdict`]),
    plural(forks.liveSteps, 'live step'),
    ...(forks.tokens === undefined ? [] : [`${forks.tokens} tokens`]),
    forks.costUsd === undefined ? 'cost unknown' : cost(forks.costUsd),
    duration(facts.wallMs),
  ].join(' · ')
}

/** Rounded down: a bound must not be shown as more than it is. */
const percent = (part: number): string => `${Math.floor(part * 100)} %`

const heading = (text: string, paint: Paint): string[] => ['', paint('bold', text)]

function causeLines({ findings, steps }: FindingsFile, { paint, width }: Look): string[] {
  if (findings.causes.length === 0) return []
  const rows = findings.causes.map((cause) => [
    `  ${paint(styleOf(cause.role), cause.role)}`,
    cause.steps.map((index) => steps[index]?.label ?? '?').join(' + '),
    rateText(cause.sufficiency),
    cause.steps.length > 1 ? `shares ${cause.shares.map(short).join(' + ')}` : '',
  ])
  return [
    ...heading('causes', paint),
    ...table([['  role', 'steps', 'fails alone', ''], ...rows], width),
  ]
}

const short = (part: number): string => part.toFixed(2)

const STYLES: Partial<Record<BlamedStep['role'], Style>> = {
  root: 'red',
  joint: 'red',
  'back-up': 'yellow',
  echo: 'cyan',
}
const styleOf = (role: BlamedStep['role']): Style => STYLES[role] ?? 'dim'

const ORDER: readonly BlamedStep['role'][] = [
  'root',
  'joint',
  'back-up',
  'echo',
  'affected',
  'unknown',
]
const BAR_WIDTH = 10
const ROWS_MAX = 16

/** Steps that have to do with it, those that matter most first. */
function stepLines(found: FindingsFile, { paint, width }: Look): string[] {
  const { findings, steps } = found
  const ranked = findings.steps
    .map((step, index) => ({ step, index }))
    .filter(({ step }) => step.role !== 'clear' && step.role !== 'unknown')
    .toSorted((a, b) => ORDER.indexOf(a.step.role) - ORDER.indexOf(b.step.role))
  if (ranked.length === 0) return []
  const more = ranked.slice(ROWS_MAX).map(({ index }) => index)
  const isWide = width >= 90
  const rows = ranked
    .slice(0, ROWS_MAX)
    .map(({ step, index }) => [
      `  ${step.label}`,
      paint(styleOf(step.role), step.role),
      bar(step.alone, BAR_WIDTH),
      rateText(step.alone),
      ...(isWide ? [step.responsibility === 0 ? '' : short(step.responsibility)] : []),
      printable(isWide ? (steps[index]?.title ?? '') : (steps[index]?.name ?? '')),
    ])
  const header = ['  step', 'role', '', 'alone', ...(isWide ? ['resp.'] : []), '']
  return [
    ...heading('steps', paint),
    ...table([header, ...rows], width),
    ...(more.length === 0 ? [] : indented(moreText(found, more), width)),
  ]
}

const moreText = ({ findings, steps }: FindingsFile, more: readonly number[]): string => {
  const roles = [...new Set(more.flatMap((index) => findings.steps[index]?.role ?? []))]
  const rising = more.toSorted((a, b) => a - b)
  return `and ${numbered(steps, rising)} (${roles.join(', ')})`
}

/** Those that one test has cleared together, and those that were not reached. */
function clearedLines({ findings, steps }: FindingsFile, { width }: Look): string[] {
  const withRole = (role: BlamedStep['role']): number[] =>
    findings.steps.flatMap((step, index) => (step.role === role ? [index] : []))
  const labels = steps.map(({ label }) => label)
  const told = (indexes: readonly number[], text: string): string[] =>
    indexes.length === 0
      ? []
      : indented(`${wordOf(indexes)} ${labelRanges(indexes, labels)}: ${text}`, width)
  const cleared = withRole('clear')
  return [
    ...told(cleared, `clear, the run passes with ${cleared.length === 1 ? 'it' : 'them'} kept`),
    ...told(withRole('unknown'), whyUnknown(findings)),
  ]
}

/** Why nothing is said of single steps. */
const whyUnknown = ({ verdict }: FindingsFile['findings']): string => {
  if (verdict === 'no attributable step') return 'it fails as often whether they are kept or free'
  if (verdict === 'flaky') return 'not told apart, the unchanged run fails only now and then'
  return 'not known, the search did not come that far'
}

const wordOf = (indexes: readonly number[]): string => (indexes.length === 1 ? 'step' : 'steps')
const indented = (text: string, width: number): string[] =>
  wrap(text, width - 4).map((line, index) => (index === 0 ? `  ${line}` : `    ${line}`))

function momentLines({ findings, steps }: FindingsFile, { width }: Look): string[] {
  const { decisionStep: decided, commitStep: committed } = findings
  if (decided === undefined && committed === undefined) return []
  const at = (index: number): string => numbered(steps, [index])
  const text =
    decided === undefined || committed === undefined || decided === committed
      ? `decided at ${at(decided ?? committed ?? 0)}, and not to be avoided after it`
      : `decided at ${at(decided)}; could still be avoided until ${at(committed)}`
  return ['', ...wrap(text, width)]
}

function repairLines({ findings, steps, run }: FindingsFile, { paint, width }: Look): string[] {
  const { minimalRepair } = findings
  const [first] = minimalRepair
  if (first === undefined) return []
  const together = minimalRepair.length > 1 ? ' together' : ''
  const label = steps[first]?.label ?? '?'
  return [
    ...heading('repair', paint),
    ...indented(`${numbered(steps, minimalRepair)}${together}; then the run passes`, width),
    `  retake fork ${run} --at ${label} --edit`,
    ...(minimalRepair.length > 1
      ? indented('then fork the branch at the next of them in the same way', width)
      : []),
  ]
}

function riskLines({ findings, steps }: FindingsFile, { paint, width }: Look): string[] {
  const points = findings.riskCurve
  if (points.length < 2) return []
  const rows = points
    .toSorted((a, b) => a.upTo - b.upTo)
    .map(({ upTo, rate }) => [
      upTo < 0 ? '  none' : `  to ${steps[upTo]?.label ?? '?'}`,
      bar(rate, width >= 90 ? 40 : 20),
      rateText(rate),
    ])
  return [...heading('risk: fails when the steps up to one are kept', paint), ...table(rows, width)]
}

function noteLines({ findings, facts, steps }: FindingsFile, { paint, width }: Look): string[] {
  const undefinedBy = Object.entries(facts.undefinedBy).map(
    ([why, count]) => `${plural(count, 'fork')} without a verdict: ${why}`,
  )
  const forced =
    facts.forcedAnswers === 0
      ? []
      : [
          `${plural(facts.forcedAnswers, 'recorded answer')} given to a changed question: that is an assumption`,
        ]
  const goOn =
    findings.verdict === 'stopped'
      ? ['Forks are stored: the same command with a higher limit goes on from here.']
      : []
  const sameAgain =
    findings.verdict === 'no attributable step' &&
    facts.free.length === 0 &&
    steps.some(({ kind }) => kind !== 'model')
      ? [
          'A tool that returns the same when it is asked again is never blamed: give it another answer, for example --free tool=neutral.',
        ]
      : []
  const notes = [...findings.notes, ...undefinedBy, ...forced, ...goOn, ...sameAgain]
  if (notes.length === 0) return []
  return [...heading('notes', paint), ...notes.flatMap((note) => indented(printable(note), width))]
}

/** What asking about one step at a time would say, for comparison. */
function classicLines(
  classic: ClassicView,
  steps: readonly SearchedStep[],
  { paint, width }: Look,
): string[] {
  const { forksPerStep, rounds, forks, isStopped } = classic
  const rows = classic.steps.map(({ label, flip, share }, index) => [
    `  ${label}`,
    bar(flip, 10),
    rateText(flip),
    flip.isBelieved ? 'yes' : '',
    share.toFixed(2),
    ...(width < 80 ? [] : [printable(steps[index]?.name ?? '')]),
  ])
  return [
    '',
    paint('bold', 'classic view'),
    ...wrap(
      `one step kept at a time, ${forksPerStep} forks each, Wilson intervals; shares over ${plural(rounds, 'round')}; ${plural(forks, 'fork')}${isStopped ? ', stopped by a limit' : ''}. It ranks; it cannot tell echoes and joint causes.`,
      width - 2,
    ).map((line) => `  ${line}`),
    ...table([['  step', '', 'fails alone', 'beyond chance', 'share', ''], ...rows], width),
  ]
}

/** Which words of what a model was asked mattered, for a person. */
function spanLines(found: SpanFindings, { paint, width }: Look): string[] {
  const { step, verdict, why, messages, spans, forks, notes } = found
  const told = (text: string): string[] =>
    wrap(printable(text), width - 4).map((line, index) =>
      index === 0 ? `  ${line}` : `    ${line}`,
    )
  const rows = messages.map(({ path, speaker, role, rate }) => [
    `  ${path}`,
    speaker,
    role,
    bar(rate, 10),
    rate === undefined ? '' : rateText(rate),
  ])
  return [
    '',
    paint('bold', `what step ${step} was asked, ${plural(forks.asked, 'fork')}`),
    ...(verdict === 'attributed' ? [] : told(`${verdict}: ${why ?? 'nothing stands out'}`)),
    ...table(rows, width),
    ...spans.flatMap(({ path, role, excerpt }) => told(`${role} in ${path}: "${excerpt}"`)),
    ...notes.flatMap(told),
  ]
}
