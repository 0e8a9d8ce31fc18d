/** How well rankings hit the labels. */
import { wilson } from '@retake/lab'

/**
 * @typedef {object} StepScore
 * @property {string} name
 * @property {number} runs
 * @property {number} step Share of runs whose labelled step comes first.
 * @property {{ low: number, high: number }} interval Wilson, 95 %, of that share.
 * @property {number} agent Share whose first step was done by the labelled agent.
 * @property {number | undefined} top3
 * @property {number} questions Mean of -log2 P(labelled step): yes-or-no questions that a bisection by this prior needs.
 */

/**
 * @param {readonly import('./who-and-when.mjs').LabelledRun[]} runs
 * @param {readonly (readonly number[])[][]} rankings per seed: the probabilities for each run
 * @returns {StepScore}
 */
export function scoreRankings(name, runs, rankings) {
  const sums = { step: 0, agent: 0, top3: 0, questions: 0 }
  for (const ranking of rankings) {
    for (const [index, { label, agent, steps }] of runs.entries()) {
      const shares = ranking[index]
      const order = shares.map((_, step) => step).toSorted((a, b) => shares[b] - shares[a] || a - b)
      sums.step += order[0] === label ? 1 : 0
      sums.agent += steps[order[0]].speaker === agent ? 1 : 0
      sums.top3 += order.slice(0, 3).includes(label) ? 1 : 0
      sums.questions -= Math.log2(Math.max(shares[label], 0.001))
    }
  }
  const count = runs.length * rankings.length
  return {
    name,
    runs: runs.length,
    step: sums.step / count,
    interval: wilson(sums.step / rankings.length, runs.length),
    agent: sums.agent / count,
    top3: sums.top3 / count,
    questions: sums.questions / count,
  }
}

/** Picking any step, on average. @returns {StepScore} */
export function scoreRandom(runs) {
  const mean = (read) => runs.reduce((sum, run) => sum + read(run), 0) / runs.length
  const share = mean(({ steps }) => 1 / steps.length)
  return {
    name: 'random step',
    runs: runs.length,
    step: share,
    interval: wilson(share * runs.length, runs.length),
    agent: mean(
      ({ steps, agent }) => steps.filter(({ speaker }) => speaker === agent).length / steps.length,
    ),
    top3: mean(({ steps }) => Math.min(1, 3 / steps.length)),
    questions: mean(({ steps }) => Math.log2(steps.length)),
  }
}

/** A rule that names one step and says nothing of the others. */
export const scoreRule = (name, runs, stepOf) => {
  const rankings = [
    runs.map((run) => {
      const named = stepOf(run)
      return run.steps.map((_, step) => (step === named ? 1 : 0))
    }),
  ]
  return { ...scoreRankings(name, runs, rankings), top3: undefined, questions: undefined }
}
