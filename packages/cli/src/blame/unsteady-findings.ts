import { confidenceSequence } from '@retake/diagnose'
import type { BlameFindings, Step } from '@retake/tape'

/** What is found when the oracle itself is not steady: nobody is blamed, and the measured rate is said. */
export function unsteadyFindings(
  steps: readonly Step[],
  { fails, forks, asked }: { readonly fails: number; forks: number; asked: number },
): BlameFindings {
  const { low, high } = confidenceSequence(fails, forks)
  const kept = { fails, forks, low, high }
  return {
    version: 1,
    verdict: 'flaky',
    why: `the oracle fails the unchanged run ${fails} of ${forks} times, and passes it the others`,
    causes: [],
    steps: steps.map(({ label }) => ({
      label,
      role: 'unknown',
      isNecessary: false,
      isSufficient: false,
      responsibility: 0,
    })),
    minimalRepair: [],
    confidence: 0,
    anchors: { kept, free: { fails: 0, forks: 0, low: 0, high: 1 } },
    riskCurve: [],
    mode: 'free',
    evidence: [
      {
        purpose: 'anchor',
        mode: 'free',
        kept: steps.length === 1 ? '0' : `0-${steps.length - 1}`,
        rate: kept,
        undefinedForks: asked - forks,
      },
    ],
    forks: { asked, served: 0, undefined: asked - forks, liveSteps: 0 },
    notes: ['Each time it was asked about the same output: make the oracle steady first.'],
  }
}
