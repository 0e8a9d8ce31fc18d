import { rememberHidden } from '@retake/engine/runs'
import { defined, type Tape, type RunFix } from '@retake/tape'
import { replacePrivateFile } from '@retake/tape/node'
import { unifiedDiff } from '@retake/tape/present'
import { cliErrors } from '@retake/runner/errors'
import { fixPathOf, readIfPresent } from '@retake/runner/runs'
import type { AppliedFixes } from './apply-fix.js'
import { verdictReason } from '../texts/fix-words.js'
import type { JudgedFix } from '../proof/prove-fixes.js'
import { fixFacts, fixHeadline, maskedEdits, outputDiff } from './fix-card.js'
import type { FixOutcome } from './fix-run.js'

export function storeOutcome(tape: Tape, outcome: FixOutcome): void {
  replacePrivateFile(fixPathOf(tape.path, tape.run.id), JSON.stringify(outcome))
}

/** The last result for a run; undefined if there is none. Throws if it cannot be read. */
export const storedOutcome = <T>(tape: Tape, use: (outcome: FixOutcome) => T): T | undefined =>
  readIfPresent(
    fixPathOf(tape.path, tape.run.id),
    (text) => {
      const outcome = JSON.parse(text) as FixOutcome
      if (outcome.version !== 1) throw new Error('It was written by another version of Retake')
      if (outcome.run !== tape.run.id) throw new Error('It belongs to another run')
      return use(outcome)
    },
    cliErrors.FINDINGS_UNREADABLE,
  )

/** The same for the viewer and for reports. `applied`: currently applied fixes. */
export function storedFix(
  tape: Tape,
  { applied, withSource }: { readonly applied: AppliedFixes; readonly withSource: boolean },
): RunFix | undefined {
  rememberHidden(tape)
  const ids = new Set(applied.applied().map(({ id }) => id))
  return storedOutcome(tape, (outcome) => ({
    at: outcome.at,
    oracle: outcome.oracle,
    reason: outcome.reason,
    status: outcome.result.status,
    ...(outcome.result.claim !== undefined && { claim: outcome.result.claim }),
    headline: fixHeadline(outcome),
    fixes: outcome.result.fixes
      .map((judged) => (withSource ? judged : withoutSource(judged)))
      .map((fix) => ({
        id: fix.candidate.id,
        title: fix.candidate.title,
        why: fix.candidate.why,
        author: fix.candidate.author,
        layer: fix.candidate.layer,
        verdict: fix.verdict.status,
        ...(fix.verdict.claim !== undefined && { claim: fix.verdict.claim }),
        reason: verdictReason(fix),
        printed: outputDiff(outcome.result, fix),
        facts: fixFacts(fix, outcome).map(([label, text]) => ({ label, text })),
        files: withSource
          ? maskedEdits(fix.candidate.edits).map(({ path: file, before = '', after }) => ({
              path: file,
              lines: unifiedDiff(before, after),
            }))
          : [],
        isApplied: ids.has(fix.candidate.id),
      })),
    symptoms: outcome.result.symptoms.map(({ class: kind, step, evidence, confidence }) => ({
      kind,
      evidence,
      confidence,
      ...(step !== undefined && { step }),
    })),
    notes: outcome.notes,
  }))
}

/** The same without the lines of code that losses and refusals name. */
const withoutSource = (fix: JudgedFix): JudgedFix => ({
  ...fix,
  evidence: {
    ...fix.evidence,
    losses: fix.evidence.losses.map((loss) => ('text' in loss ? { ...loss, text: '' } : loss)),
  },
  verdict: {
    ...fix.verdict,
    ...defined({ refusals: fix.verdict.refusals?.map((each) => ({ ...each, text: '' })) }),
  },
})
