import { withoutHidden } from '@retake/engine/runs'
import { defined, redactText } from '@retake/tape'
import type { FileEdit } from '../proof/candidates.js'
import { FIT_CODES } from '../proof/fitted-edits.js'
import type { Loss } from '../proof/losses.js'
import type { FixEvidence, FixResult, JudgedFix } from '../proof/prove-fixes.js'
import { CLAIM_WORDS, cost, duration, fixWords, plural, unifiedDiff } from '@retake/tape/present'
import { limitText, lossText, verdictReason } from '../texts/fix-words.js'
import { leadLines, linesOf, type Look, printable, type Style, wrap } from '@retake/runner/terminal'
import { cliErrors } from '@retake/runner/errors'
import type { FixOutcome } from './fix-run.js'

const SHOWN_MAX = 5

/** Changes with which the run passes, best first: fixes before workarounds. */
export const workingFixes = ({ fixes }: FixResult): readonly JudgedFix[] =>
  fixes.filter(({ verdict }) => verdict.claim !== undefined)

export const bestFix = (result: FixResult): JudgedFix | undefined => workingFixes(result)[0]

const HEADLINES: Readonly<Record<FixResult['status'], readonly [Style, string]>> = {
  repaired: ['green', 'repairs this run'],
  workaround: ['yellow', 'workaround'],
  'not-reproduced': ['yellow', 'cannot reproduce'],
  flaky: ['yellow', 'flaky'],
  'not-fixed': ['red', 'not fixed'],
  untried: ['yellow', 'could not be tried'],
  'not-forkable': ['red', 'cannot be forked'],
  passing: ['green', 'passes'],
}

export function fixLines(outcome: FixOutcome, look: Look, { isApplied = false } = {}): string[] {
  const { result, run, proposed = [], model } = outcome
  const { paint, width } = look
  const [style, word] = headlineOf(outcome)
  const best = bestFix(result)
  const title = printable(best?.candidate.title ?? explanation(outcome))
  const rejected = best === undefined ? result.fixes : []
  const others = workingFixes(result).slice(1, SHOWN_MAX)
  const causes = causesText(outcome)
  const unusable = Object.entries(model?.unusable ?? {}).map(([why, count]) => `${count} × ${why}`)
  return linesOf(
    ...wrap(`${word} · ${title}`, width).map((line, index) =>
      index === 0 ? line.replace(word, paint(style, word)) : `  ${line}`,
    ),
    best && bodyLines(best, outcome, look),
    result.status !== 'passing' && symptomLines(result, look, best?.candidate.why),
    causes !== undefined && `  cause    ${causes} (retake blame ${run})`,
    best === undefined &&
      (result.forks > 0 || outcome.search !== undefined) &&
      `  spent    ${spentText(outcome)}`,
    proposed.length > 0 && ['', `  would try ${plural(proposed.length, 'candidate')}:`],
    ...proposed.map((each) => leadLines('    ', printable(each), width)),
    ...others.map(({ candidate: { title: text, id }, verdict: { status, claim } }) => {
      const what = defined({ verdict: status, claim })
      return leadLines('  also     ', `${printable(text)} (${id}), ${fixWords(what)}`, width)
    }),
    ...candidateLines('not tried', untriedFixes(result), look),
    ...candidateLines(
      'tried',
      rejected.filter(({ verdict }) => verdict.status !== 'untried'),
      look,
    ),
    result.status === 'untried' && missingLines(outcome, look),
    model &&
      `  model    ${model.model}: ${plural(model.requests, 'request')}, ${plural(model.candidates, 'candidate')}${unusable.length === 0 ? '' : `; not usable: ${unusable.join(', ')}`}`,
    best !== undefined && !isApplied && `  apply    retake fix ${run} --apply`,
  )
}

/** The cause that was searched; undefined if none was. */
function causesText({ causes, search }: FixOutcome): string | undefined {
  if (causes === undefined) return undefined
  if (search?.isStopped === true)
    return search.forks === 0
      ? 'not searched: a limit stopped the search before the first fork'
      : `not found: a limit stopped the search after ${plural(search.forks, 'fork')}`
  const texts = causes.map((steps) =>
    steps.length === 1 ? `step ${steps[0]}` : `steps ${steps.join(' and ')} together`,
  )
  return texts.join('; ') || 'no step was found that explains the failure'
}

const untriedFixes = ({ fixes }: FixResult): readonly JudgedFix[] =>
  fixes.filter(({ verdict }) => verdict.status === 'untried')

const candidateLines = (did: string, fixes: readonly JudgedFix[], { width }: Look): string[] =>
  fixes.length === 0
    ? []
    : [
        '',
        `  ${did}: ${plural(fixes.length, 'candidate')}`,
        ...fixes
          .slice(0, SHOWN_MAX)
          .flatMap((fix) => [
            ...leadLines('    ', printable(fix.candidate.title), width),
            ...leadLines('      ', printable(verdictReason(fix)), width),
          ]),
      ]

/** Requirements of fixes that could not be tried. */
function missingLines({ result, noSandbox = '' }: FixOutcome, { width }: Look): string[] {
  const verdicts = untriedFixes(result).map(({ verdict }) => verdict)
  const tools = new Set(verdicts.flatMap((verdict) => verdict.tools ?? []))
  const variables = new Set(verdicts.flatMap((verdict) => verdict.variables ?? []))
  const addresses = new Set(verdicts.flatMap((verdict) => verdict.address ?? []))
  const isWritten = verdicts.some(({ code }) => code === 'FIX_SANDBOX_MISSING')
  return [
    ...(tools.size > 0 ? [cliErrors.FIX_TOOL_NOT_RUN([...tools], noSandbox)] : []),
    ...(isWritten ? [cliErrors.FIX_SANDBOX_MISSING(noSandbox)] : []),
    ...(variables.size > 0 ? [cliErrors.FIX_VARIABLE_MISSING([...variables])] : []),
    ...(addresses.size > 0 ? [cliErrors.FIX_ADDRESS_MISSING([...addresses])] : []),
  ].flatMap(({ why, fix, code }) => [
    '',
    ...leadLines('  why  ', printable(why), width),
    ...leadLines('  fix  ', fix, width),
    `  code ${code}`,
  ])
}

/** Words of the claim for a fix. No fix was tried if candidates were only listed. */
const headlineOf = ({ result, proposed }: FixOutcome): readonly [Style, string] =>
  result.status === 'repaired' && result.claim !== undefined
    ? ['green', CLAIM_WORDS[result.claim]]
    : proposed !== undefined && result.status === 'not-fixed'
      ? ['yellow', 'reproduced']
      : HEADLINES[result.status]

/** One-line result: `Fixed: Strip the code fence before JSON.parse`. */
export function fixHeadline(outcome: FixOutcome): string {
  const [, word] = headlineOf(outcome)
  const title = bestFix(outcome.result)?.candidate.title ?? explanation(outcome)
  return `${word.charAt(0).toUpperCase()}${word.slice(1)}: ${title}`
}

function explanation(outcome: FixOutcome): string {
  const { result, reason, run, proposed, model, changedSources = [] } = outcome
  const { reproduced, status, tried } = result
  const rate = `${reproduced.failed} of ${reproduced.trials} trials fail`
  const refused = result.symptoms.find((symptom) => symptom.class === 'authentication')
  if (proposed !== undefined && status === 'not-fixed')
    return `${rate} (${reason}); no fix was tried`
  if (result.isCutShort === true)
    return `${result.reason} ${tried === 0 ? 'No fix was tried' : `${plural(tried, 'candidate')} tried`}`
  switch (status) {
    case 'passing':
      return `nothing to fix: run ${run} passes (${reason})`
    case 'not-reproduced':
      return changedSources.length === 0
        ? `the failure does not repeat: ${rate}`
        : `the failure does not repeat with today's code: ${rate}. Changed since the run: ${changedSources.join(', ')}. \`retake replay ${run} --code recorded\` runs the recorded code`
    case 'flaky':
      return `${result.reason} A retry is not a fix`
    case 'not-forkable':
      return changedSources.length === 0
        ? result.reason
        : `${result.reason} Changed since the run: ${changedSources.join(', ')}`
    case 'untried': {
      const untried = untriedFixes(result).length
      return `${rate} (${reason}). ${untried} of ${plural(result.fixes.length, 'candidate')} could not be tried`
    }
    case 'repaired':
    case 'workaround':
    case 'not-fixed':
      if (tried === 0 && refused !== undefined)
        return `${refused.evidence} No change of the code helps: check the key that the run uses, and what it may do`
      return tried === 0
        ? `no rule applies to this failure (${reason}); ${model === undefined ? '--model lets a model write a fix' : `${model.model} wrote nothing that could be tried`}`
        : `none of ${plural(tried, 'candidate')} repairs the run (${reason})`
  }
}

export function fixFacts(
  { candidate, evidence, verdict, scoreReason }: JudgedFix,
  {
    result,
    corpus,
    siblings,
    opposites,
    search,
  }: Pick<FixOutcome, 'result' | 'corpus' | 'siblings' | 'opposites' | 'search'>,
): [label: string, text: string][] {
  const { control, siblings: alike, opposites: opposite, fixed, pinnedToChanged } = evidence
  const { probes, losses, literals } = evidence
  const limit = limitText(evidence, verdict.claim)
  const isFit = ({ code }: Loss): boolean => (FIT_CODES as readonly string[]).includes(code)
  const [lost, fitted] = [losses.filter((loss) => !isFit(loss)), losses.filter(isFit)]
  const it = losses.length > 0 ? 'change' : 'fix'
  const failed = control.trials - control.passed
  const edits = candidate.edits
  const signs = edits.flatMap(({ before = '', after }) => unifiedDiff(before, after))
  const added = signs.filter(({ sign }) => sign === '+').length
  const removed = signs.filter(({ sign }) => sign === '-').length
  const passes = `${fixed.passed} of ${plural(fixed.trials, 'trial')} with it`
  const onPinned =
    pinnedToChanged > 0
      ? ` · ${plural(pinnedToChanged, 'recorded answer')} given to a changed request`
      : ''
  const facts: [isKnown: boolean, label: string, text: string][] = [
    [true, 'fails', `${failed} of ${plural(control.trials, 'trial')} without the ${it}`],
    [true, 'passes', `${passes}${onPinned}`],
    [lost.length > 0, 'loses', lost.map(lossText).join('; ')],
    [fitted.length > 0, 'fitted', fitted.map(lossText).join('; ')],
    [
      literals.length > 0 && losses.every(({ code }) => code !== 'VALUE_NAMED'),
      'literal',
      `it compares with ${literals.map(({ at, value }) => `“${value}” at ${at}`).join(' and ')}, which ${literals.length === 1 ? 'is a value' : 'are values'} of this run`,
    ],
    [siblings.length > 0, 'siblings', `${alike.passed} of ${alike.trials} other failed runs pass`],
    [
      probes.trials > 0,
      'variants',
      `${probes.passed} of ${plural(probes.trials, 'variant')} of this run pass`,
    ],
    [
      opposites.length > 0,
      'opposite',
      `${opposite.passed} of ${opposite.trials} runs are judged as before`,
    ],
    [corpus > 0, 'corpus', corpusText(evidence)],
    [corpus === 0, 'corpus', 'no passing run was found to check against'],
    [true, 'size', `+${added} −${removed} lines in ${edits.map((edit) => edit.path).join(', ')}`],
    [true, 'spent', spentText({ result, ...defined({ search }) })],
    [workingFixes(result).length > 1, 'rank', scoreReason],
    [limit !== undefined && losses.length === 0, 'open', limit ?? ''],
  ]
  return facts.flatMap(([isKnown, ...fact]) => (isKnown ? [fact] : []))
}

function bodyLines(fix: JudgedFix, outcome: FixOutcome, { paint, width }: Look): string[] {
  const { candidate } = fix
  const painted = (line: string): string => {
    const text = printable(line)
    const style = DIFF_STYLES[line.slice(0, 1)]
    return `  ${style === undefined ? text : paint(style, text)}`
  }
  const printed = outputDiff(outcome.result, fix)
  const facts = [['why', candidate.why] as const, ...fixFacts(fix, outcome)]
  return [
    ...facts.flatMap(([label, text]) =>
      wrap(printable(text), width - 11).map(
        (line, index) => `  ${(index === 0 ? label : '').padEnd(8)} ${line}`,
      ),
    ),
    '',
    ...diffText(candidate.edits).map(painted),
    '',
    ...(printed.length > 0 ? ['  printed before and now:', ...printed.map(painted), ''] : []),
  ]
}

/** Lines of the output that differ between the failed run and the run with the fix. */
export function outputDiff(
  { failedOutput }: FixResult,
  { evidence: { output } }: JudgedFix,
): readonly string[] {
  if (failedOutput === undefined || output === undefined) return []
  const [before, after] = [failedOutput, output].map(({ stdout, end }) =>
    `${stdout.trimEnd()}\n(ended with ${end})`.trimStart(),
  )
  return unifiedDiff(before!, after!)
    .filter(({ sign }) => sign !== '@')
    .slice(0, OUTPUT_LINES_MAX)
    .map(({ sign, text }) => `${sign}${text}`)
}

const OUTPUT_LINES_MAX = 12

const DIFF_STYLES: Readonly<Record<string, Style>> = { '-': 'red', '+': 'green', '@': 'dim' }

function corpusText({ corpus }: FixEvidence): string {
  const { identical, same, breaks, notChecked, whyNotChecked, changedOutput } = corpus
  const all = identical + same + breaks + notChecked
  return [
    `${identical} of ${all} passing runs make the same requests and print the same`,
    ...(changedOutput !== undefined && breaks === 0
      ? [
          `${same} still ${same === 1 ? 'passes' : 'pass'}, one prints “${changedOutput.after}” instead of “${changedOutput.before}”`,
        ]
      : same > 0
        ? [
            same === 1
              ? '1 makes other requests and still passes'
              : `${same} make other requests and still pass`,
          ]
        : []),
    ...(breaks > 0 ? [`${breaks} ${breaks === 1 ? 'breaks' : 'break'}`] : []),
    ...(notChecked > 0
      ? [`${notChecked} not checked${whyNotChecked ? `: ${whyNotChecked}` : ''}`]
      : []),
  ].join(' · ')
}

/** Trials, and the search for the cause, which is usually the larger part. */
function spentText({ result, search }: Pick<FixOutcome, 'result' | 'search'>): string {
  const { forks, costUsd, ms } = result
  const searched = search?.forks ?? 0
  if (forks + searched === 0) return 'nothing: the trials of an earlier command are used'
  const costs = [
    ...(forks > 0 ? [costUsd] : []),
    ...(search !== undefined && searched > 0 ? [search.costUsd] : []),
  ]
  const sum = costs.includes(undefined)
    ? undefined
    : costs.reduce<number>((total, each) => total + (each ?? 0), 0)
  return [
    plural(forks, 'trial'),
    ...(searched > 0 ? [`${plural(searched, 'fork')} to locate the cause`] : []),
    sum === undefined ? 'cost unknown' : cost(sum) || '$0',
    duration(ms),
  ].join(' · ')
}

/** Omits the symptom already shown as the reason for the fix. */
function symptomLines({ symptoms }: FixResult, { width }: Look, shown?: string): string[] {
  return symptoms
    .filter(({ evidence }) => evidence !== shown)
    .slice(0, SHOWN_MAX)
    .flatMap(({ class: kind, evidence, step, confidence }) =>
      leadLines(
        `  ${confidence.padEnd(8)} `,
        `${kind}${step === undefined ? '' : ` at step ${step}`}: ${printable(evidence)}`,
        width,
      ),
    )
}

/** A unified diff for `git apply`. */
export function diffText(edits: readonly FileEdit[]): string[] {
  return edits.flatMap(({ path: file, before, after }) => {
    const hunks: { readonly from: number; readonly to: number; readonly shown: string[] }[] = []
    for (const { sign, text, lines: [from, to] = [1, 1] } of unifiedDiff(before ?? '', after)) {
      if (sign === '@') hunks.push({ from, to, shown: [] })
      else hunks.at(-1)?.shown.push(`${sign}${text}`)
    }
    return [
      `--- ${before === undefined ? '/dev/null' : `a/${file}`}`,
      `+++ b/${file}`,
      ...hunks.flatMap(({ from, to, shown }) => {
        const range = (start: number, signs: string): string => {
          const { length } = shown.filter((line) => signs.includes(line[0] ?? ''))
          return `${length === 0 ? 0 : start},${length}`
        }
        return [`@@ -${range(from, ' -')} +${range(to, ' +')} @@`, ...shown]
      }),
    ]
  })
}

/**
 * Edits without the secrets in their files, for texts that others read. Masked before they are
 * compared, because a secret can have several lines.
 */
export const maskedEdits = (edits: readonly FileEdit[]): FileEdit[] =>
  edits.map(({ path: file, before, after }) => ({
    path: file,
    before: before === undefined ? undefined : maskedText(before),
    after: maskedText(after),
  }))

const maskedText = (text: string): string =>
  redactText(text).split('\n').map(withoutHidden).join('\n')

/** The best fix as a patch; empty if there is none. Secrets in its lines stay, or it would not apply. */
export function patchText({ result }: FixOutcome): string {
  const best = bestFix(result)
  return best === undefined ? '' : `${diffText(best.candidate.edits).join('\n')}\n`
}

export function pullRequestText(outcome: FixOutcome): string {
  const best = bestFix(outcome.result)
  if (best === undefined) return ''
  const { candidate } = best
  return [
    `# ${candidate.title}`,
    '',
    candidate.why,
    '',
    `Recorded failure: run \`${outcome.run}\`, judged by \`${outcome.oracle}\`: ${outcome.reason}.`,
    '',
    '| Evidence | |',
    '|---|---|',
    `| claim | ${CLAIM_WORDS[best.verdict.claim ?? 'this-run']} |`,
    ...fixFacts(best, outcome).map(([label, text]) => `| ${label} | ${text} |`),
    '',
    '```diff',
    ...diffText(maskedEdits(candidate.edits)),
    '```',
    '',
  ].join('\n')
}

/** Pairs of wrong and right code, one JSON object per line. */
export function pairLines(outcome: FixOutcome): string {
  return workingFixes(outcome.result)
    .flatMap(({ candidate, evidence, verdict }) =>
      maskedEdits(candidate.edits).map(({ path: file, before, after }) =>
        JSON.stringify({
          run: outcome.run,
          oracle: outcome.oracle,
          failure: outcome.reason,
          operator: candidate.operator,
          file,
          wrong: before ?? null,
          right: after,
          claim: verdict.claim,
          evidence: { control: evidence.control, fixed: evidence.fixed, corpus: evidence.corpus },
        }),
      ),
    )
    .map((line) => `${line}\n`)
    .join('')
}
