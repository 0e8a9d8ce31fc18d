import type { BlamedStep, BlameProbe, Rate, SpanFindings } from '@retake/tape'
import {
  linesOf,
  type Look,
  type Paint,
  printable,
  type Style,
  tableLines,
  wrap,
  wrapFacts,
} from '@retake/runner/terminal'
import type { FindingsFile, SearchedStep } from './findings.js'
import type { ClassicView } from '../search/classic-view.js'
import {
  PURPOSE_WORDS,
  causeText,
  confidenceText,
  cost,
  count,
  duration,
  intervalText,
  namesCauses,
  labelRanges,
  plural,
  rateText,
  repairSentence,
  roleWord,
  stepsText,
  namedFindings,
  verdictSentence,
} from '@retake/tape/present'

/** `5 of 6  42–99 %`: failures, forks, and the confidence interval of the rate. */
const rateCell = (rate: Rate | undefined): string =>
  rate === undefined || rate.forks === 0
    ? rateText(rate)
    : `${rateText(rate)}  ${intervalText(rate)}`

/** A rate as a bar, with its uncertainty: `████▒▒░░`. */
function bar(rate: Rate | undefined, width: number): string {
  if (rate === undefined || rate.forks === 0) return ' '.repeat(width)
  const low = Math.round(rate.low * width)
  const high = Math.max(low, Math.round(rate.high * width))
  return '█'.repeat(low) + '▒'.repeat(high - low) + '·'.repeat(width - high)
}

function evidenceLines({ findings, steps }: FindingsFile, look: Look): string[] {
  const labels = steps.map(({ label }) => label)
  const purposes = [...new Set(findings.evidence.map(({ purpose }) => purpose))]
  const lines = purposes.flatMap((purpose) => {
    const probes = findings.evidence.filter((probe) => probe.purpose === purpose)
    const rows = probes.map((probe, index) => probeRow(probe, labels, index === probes.length - 1))
    return [
      `${purpose}  ${look.paint('dim', PURPOSE_WORDS[purpose])}`,
      ...tableLines(rows, look.width),
    ]
  })
  return lines.length === 0 ? [] : ['', look.paint('bold', 'evidence'), ...lines]
}

function probeRow(probe: BlameProbe, labels: readonly string[], isLast: boolean): string[] {
  const { purpose, pinned, mode, rate, undefinedForks, fails, ambient, given = [] } = probe
  const every = labelRanges([...labels.keys()], labels)
  const what =
    pinned === '' ? 'nothing pinned' : pinned === every ? 'everything pinned' : `pinned ${pinned}`
  const world = ambient === undefined ? '' : ', with recorded clock and files'
  const said = given.map(({ step, from }) => `, step ${step} as with ${from || 'nothing'} pinned`)
  const undecided = purpose === 'anchor' ? 'same rate' : 'undecided'
  return [
    `${isLast ? '└' : '├'} ${mode === 'frozen' ? `${what}, frozen` : what}${world}${said.join('')}`,
    fails === undefined ? undecided : fails ? 'fails' : 'passes',
    rateCell(rate) + (undefinedForks === 0 ? '' : `  ${undefinedForks} without a verdict`),
  ]
}

export function blameLines(
  found: FindingsFile,
  look: Look,
  { evidence }: { readonly evidence: boolean },
): string[] {
  const { paint, width } = look
  const { why } = found.findings
  const sentence = verdictSentence(namedFindings(found.findings, found.steps))
  const verdict = why === undefined || why === 'It was stopped.' ? sentence : `${sentence} ${why}`
  return [
    ...wrap(printable(verdict), width).map((line) => paint('bold', line)),
    ...wrap(confidenceText(found.findings) ?? '', width).filter((line) => line !== ''),
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
  const stored = Math.max(0, asked - facts.newForks)
  return [
    plural(asked, 'fork') + (stored === 0 ? '' : ` (${stored} of an earlier search)`),
    ...(forks.undefined === 0 ? [] : [`${forks.undefined} without a verdict`]),
    plural(forks.liveSteps, 'live step'),
    ...(forks.tokens === undefined ? [] : [`${forks.tokens} tokens`]),
    // The cost of earlier forks was paid then.
    forks.costUsd === undefined
      ? 'cost unknown'
      : stored > 0 && facts.spentUsd !== undefined
        ? `${cost(forks.costUsd)}, of which ${cost(facts.spentUsd) || '$0'} now`
        : cost(forks.costUsd),
    duration(facts.wallMs),
  ].join(' · ')
}

const heading = (text: string, paint: Paint): string[] => ['', paint('bold', text)]

function causeLines({ findings }: FindingsFile, { paint, width }: Look): string[] {
  const { causes } = findings
  const [only] = causes
  // The table below already shows a single step.
  if (!namesCauses(findings) || only === undefined) return []
  if (causes.length === 1 && only.steps.length === 1 && only.ambient === undefined) return []
  const lines = causes.flatMap((cause, order) => {
    const { steps, ambient = [], role, sufficiency } = cause
    const isOne = steps.length + ambient.length === 1
    const what =
      ambient.length === 0 ? (isOne ? 'only this step' : 'only these steps') : 'only this'
    const kind = order === 0 ? '' : `${role}: `
    return [
      ...indented(printable(`${kind}${causeText(cause, { findings })}`), width).map((line) =>
        paint(styleOf(role), line),
      ),
      ...indented(
        `  fails with ${what} pinned: ${rateText(sufficiency)} (${intervalText(sufficiency)})`,
        width,
      ),
    ]
  })
  return [...heading(causes.length === 1 ? 'cause' : 'causes', paint), ...lines]
}

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
const ROWS_MAX = 16

function stepLines({ findings, steps }: FindingsFile, { paint, width }: Look): string[] {
  const ranked = findings.steps
    .map((step, index) => ({ step, index }))
    .filter(({ step }) => step.role !== 'clear' && step.role !== 'unknown')
    .toSorted((a, b) => ORDER.indexOf(a.step.role) - ORDER.indexOf(b.step.role))
  if (ranked.length === 0) return []
  const more = ranked.slice(ROWS_MAX)
  const roles = [...new Set(more.map(({ step }) => step.role))]
  const labels = more.toSorted((a, b) => a.index - b.index).map(({ step }) => step.label)
  const moreText = `and ${stepsText(labels, { steps })} (${roles.join(', ')})`
  const isWide = width >= 90
  const rows = ranked
    .slice(0, ROWS_MAX)
    .map(({ step, index }) => [
      `  ${step.label}`,
      paint(styleOf(step.role), roleWord(step)),
      bar(step.alone, 10),
      rateCell(step.alone),
      printable(isWide ? (steps[index]?.did ?? '') : (steps[index]?.name ?? '')),
    ])
  return [
    ...heading('steps: how often it fails with only this one pinned', paint),
    ...tableLines(rows, width),
    ...(more.length === 0 ? [] : indented(moreText, width)),
    ...legend(paint),
  ]
}

const legend = (paint: Paint): string[] => [paint('dim', '  █ fails  ▒ not known  · passes')]

/** Steps that one test cleared together, and steps that were not reached. */
function clearedLines({ findings, steps }: FindingsFile, { width }: Look): string[] {
  const withRole = (role: BlamedStep['role']): number[] =>
    findings.steps.flatMap((step, index) => (step.role === role ? [index] : []))
  const labels = steps.map(({ label }) => label)
  const listed = (indexes: readonly number[], text: string | undefined): string[] =>
    indexes.length === 0 || text === undefined
      ? []
      : indented(
          `${indexes.length === 1 ? 'step' : 'steps'} ${labelRanges(indexes, labels)}: ${text}`,
          width,
        )
  const cleared = withRole('clear')
  return [
    ...listed(cleared, clearedText(findings, cleared.length === 1 ? 'it' : 'them')),
    ...listed(withRole('unknown'), whyUnknown(findings)),
  ]
}

/** The test that cleared steps together. */
function clearedText({ cleared, anchors }: FindingsFile['findings'], them: string): string {
  if (cleared === undefined || cleared.forks === 0) return 'clear'
  const often = `${count(cleared.fails)} of ${count(cleared.forks)} times`
  return cleared.fails === 0
    ? `clear, the run passes with ${them} pinned (${plural(cleared.forks, 'fork')})`
    : `clear, with ${them} pinned it fails ${often}, and with nothing pinned ${rateText(anchors.free)}`
}

/** Why single steps have no result; undefined if the verdict already says it. */
const whyUnknown = ({ verdict }: FindingsFile['findings']): string | undefined => {
  if (verdict === 'no attributable step' || verdict === 'race') return undefined
  if (verdict === 'flaky') return 'not distinguished, the unchanged run fails only sometimes'
  if (namesCauses({ verdict }))
    return 'cannot tell whether they repeat it or would fail on their own'
  return 'unknown, the search ended before'
}

const indented = (text: string, width: number): string[] =>
  wrap(text, width - 4).map((line, index) => (index === 0 ? `  ${line}` : `    ${line}`))

function momentLines({ findings, steps }: FindingsFile, { width }: Look): string[] {
  const { decisionStep: decided, commitStep: committed } = findings
  if (decided === undefined || committed === undefined || decided === committed) return []
  const at = (label: string): string => stepsText([label], { steps })
  return [
    '',
    ...wrap(`decided at ${at(decided)}; could still be avoided until ${at(committed)}`, width),
  ]
}

function repairLines({ findings, run, steps }: FindingsFile, { paint, width }: Look): string[] {
  const sentence = repairSentence(findings, namedFindings(findings, steps).freeOf)
  if (sentence === undefined) return []
  const [first, ...more] = findings.repair?.steps ?? []
  // An unwrapped tool has no event to fork at, and another process has no run.
  const isForkable = first !== undefined && !/[.:]/.test(first)
  return linesOf(
    heading('repair', paint),
    indented(printable(sentence), width),
    isForkable && `  retake fork ${run} --at ${first} --edit`,
    more.length > 0 && indented('Then fork the branch at the next of them in the same way.', width),
  )
}

function riskLines({ findings }: FindingsFile, { paint, width }: Look): string[] {
  const points = findings.riskCurve
  if (points.length < 2) return []
  const rows = points.map(({ upTo, rate }) => [
    upTo === undefined ? '  none' : `  to ${upTo}`,
    bar(rate, width >= 90 ? 40 : 20),
    rateCell(rate),
  ])
  return [
    ...heading('risk: how often it fails with the steps up to one pinned', paint),
    ...tableLines(rows, width),
    ...legend(paint),
  ]
}

function noteLines({ findings, steps, facts }: FindingsFile, { paint, width }: Look): string[] {
  const { blocked = [] } = facts
  const [first] = findings.causes
  const dependent =
    findings.verdict === 'dependence' && first !== undefined
      ? steps.find(({ label }) => first.steps.includes(label))
      : undefined
  const same = findings.steps.find(({ isUnchanged }) => isUnchanged)
  const tool = steps.find(({ label, kind }) => label === same?.label && kind !== 'model')
  const notes = linesOf(
    findings.notes,
    ...Object.entries(facts.undefinedBy).map(
      ([why, count]) => `${plural(count, 'fork')} without a verdict: ${why}`,
    ),
    facts.forcedAnswers > 0 &&
      `${plural(facts.forcedAnswers, 'time')} a pinned step got its recorded answer to a changed request (Limits in \`retake docs blame\`).`,
    findings.verdict === 'stopped' &&
      'Forks are stored: the same command with a higher limit continues from here.',
    // Suggestions for the next search.
    dependent &&
      `This shows that the failure depends on step ${dependent.label}, not that its answer was wrong. To test a right answer: --free '${dependent.label}=json:…'`,
    ...Object.entries(facts.assumed ?? {}).map(([label, count]) => {
      const { did = `step ${label}` } = steps.find((step) => step.label === label) ?? {}
      return `${plural(count, 'time')} step ${label} (${did}) was made with other arguments. It was not run, and got its recorded answer. For another: --free '${label}=json:…'`
    }),
    ...blocked.map((name) => blockedAdvice(name, steps)),
    findings.verdict === 'no attributable step' &&
      tool &&
      `To try another answer: --free '${tool.tool ?? tool.label}=json:…'`,
  )
  if (notes.length === 0) return []
  return [...heading('notes', paint), ...notes.flatMap((note) => indented(printable(note), width))]
}

/** How to answer a call that may not run and that no recording has. */
function blockedAdvice(name: string, steps: readonly SearchedStep[]): string {
  const labels = steps.flatMap(({ label, tool, kind }) => ((tool ?? kind) === name ? [label] : []))
  const which = labels.length === 1 ? labels[0] : name
  return `If ${name} answers the same whatever it is called with: --free ${which}=recorded. If it has no effects: --live-tools=${name}`
}

function classicLines(
  classic: ClassicView,
  steps: readonly SearchedStep[],
  { paint, width }: Look,
): string[] {
  const { forksPerStep, rounds, forks, isStopped } = classic
  const rows = classic.steps.map(({ label, flip, share }, index) => [
    `  ${label}`,
    bar(flip, 10),
    rateCell(flip),
    flip.isBelieved ? 'yes' : '',
    share.toFixed(2),
    ...(width < 80 ? [] : [printable(steps[index]?.name ?? '')]),
  ])
  return [
    '',
    paint('bold', 'classic view'),
    ...wrap(
      `one step pinned at a time, ${forksPerStep} forks each, Wilson intervals; shares over ${plural(rounds, 'round')}; ${plural(forks, 'fork')}${isStopped ? ', stopped by a limit' : ''}. It ranks; it cannot distinguish echoes and joint causes.`,
      width - 2,
    ).map((line) => `  ${line}`),
    ...tableLines([['  step', '', 'only it pinned', 'beyond chance', 'share', ''], ...rows], width),
  ]
}

function spanLines(found: SpanFindings, { paint, width }: Look): string[] {
  const { step, verdict, why, messages, spans, forks, notes } = found
  const listed = (text: string): string[] => indented(printable(text), width)
  const rows = messages.map(({ path, speaker, role, rate }) => [
    `  ${path}`,
    speaker,
    role,
    bar(rate, 10),
    rate === undefined ? '' : rateCell(rate),
  ])
  return [
    '',
    paint('bold', `request of step ${step}, ${plural(forks.asked, 'fork')}`),
    ...(verdict === 'attributed' ? [] : listed(`${verdict}: ${why ?? 'no part is decisive'}`)),
    ...tableLines(rows, width),
    ...spans.flatMap(({ path, role, excerpt }) => listed(`${role} in ${path}: "${excerpt}"`)),
    ...notes.flatMap(listed),
  ]
}
