import { FIX_LAYERS, type FixCandidate } from './candidates.js'
import { CLAIMS } from './claims.js'
import type { FixVerdict, Judged, JudgedFix } from './prove-fixes.js'

/** Weights of arguments against a fix, relative to certain success. */
const BLAST_WEIGHT = 0.3
const LAYER_WEIGHT = 0.03
const LINE_WEIGHT = 0.002
const COST_WEIGHT = 0.1
const PINNED_WEIGHT = 0.05

const ORDER: readonly FixVerdict['status'][] = [
  'repairs',
  'workaround',
  'untried',
  'undecided',
  'rejected',
]

/**
 * Orders candidates: those that repair the run, strongest claim first, then workarounds, untried,
 * undecided and rejected ones; equal ones by score.
 */
export const rankFixes = (judged: readonly Judged[]): JudgedFix[] =>
  judged
    .map((each) => ({ ...each, ...scoreOf(each) }))
    .toSorted(
      (left, right) =>
        ORDER.indexOf(left.verdict.status) - ORDER.indexOf(right.verdict.status) ||
        claimRank(right) - claimRank(left) ||
        right.score - left.score,
    )

const claimRank = ({ verdict }: Judged): number =>
  verdict.claim === undefined ? -1 : CLAIMS.indexOf(verdict.claim)

/** Lower bound of success × coverage − blast radius − cost − size. */
const scoreOf = ({ candidate, evidence }: Judged): Pick<JudgedFix, 'score' | 'scoreReason'> => {
  const { fixed, siblings, probes, corpus, costUsd = 0, pinnedToChanged } = evidence
  const coverage = siblings.trials === 0 ? 1 : siblings.passed / siblings.trials
  const checked = corpus.identical + corpus.same + corpus.breaks
  const blast = checked === 0 ? 0 : (corpus.same + corpus.breaks) / checked
  const lines = changedLines(candidate)
  const layer = FIX_LAYERS.indexOf(candidate.layer)
  const score =
    fixed.low * coverage -
    BLAST_WEIGHT * blast -
    COST_WEIGHT * Math.min(1, costUsd) -
    LINE_WEIGHT * Math.min(100, lines) -
    LAYER_WEIGHT * layer -
    PINNED_WEIGHT * Math.min(4, pinnedToChanged)
  const parts = [
    evidence.isExact
      ? `certain on this run`
      : `passes at least ${Math.round(fixed.low * 100)} % of the time`,
    siblings.trials === 0
      ? probes.trials === 0
        ? 'no other failing run to compare'
        : `repairs ${probes.passed} of ${probes.trials} variants of this run`
      : `repairs ${siblings.passed} of ${siblings.trials} other failing runs`,
    checked === 0
      ? 'no passing run to compare'
      : corpus.same + corpus.breaks === 0
        ? `${corpus.identical} of ${checked} passing runs stay identical`
        : `changes ${corpus.same + corpus.breaks} of ${checked} passing runs`,
    `${lines} ${lines === 1 ? 'line' : 'lines'} at the ${candidate.layer} layer`,
    ...(costUsd >= 0.01 ? [`$${costUsd.toFixed(2)}`] : []),
    ...(pinnedToChanged > 0 ? [`${pinnedToChanged} recorded answers to changed requests`] : []),
  ]
  return { score, scoreReason: parts.join('; ') }
}

/** Lines that an edit adds or removes, without lines that only moved. */
export const changedLines = ({ edits }: FixCandidate): number =>
  edits.reduce((sum, { before = '', after }) => {
    const counts = new Map<string, number>()
    for (const line of before.split('\n')) counts.set(line, (counts.get(line) ?? 0) - 1)
    for (const line of after.split('\n')) counts.set(line, (counts.get(line) ?? 0) + 1)
    return sum + [...counts.values()].reduce((total, count) => total + Math.abs(count), 0)
  }, 0)
