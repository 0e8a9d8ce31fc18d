/** What a search is busy with, in this order. */
export const PHASES = ['anchors', 'cause', 'back-ups', 'audit', 'echoes'] as const

export type Phase = (typeof PHASES)[number]

/**
 * About how many forks a phase takes when the first cause is one step or two: halving
 * takes one question for each doubling of the steps.
 */
export function forksOfPhase(phase: Phase, stepCount: number, forksPerQuestion: number): number {
  const halvings = Math.ceil(Math.log2(Math.max(2, stepCount)))
  const questions = {
    anchors: 4,
    cause: halvings + 4,
    'back-ups': 1,
    audit: 10,
    echoes: 2,
  }
  return Math.ceil(questions[phase] * forksPerQuestion)
}
