import type { RunView, Step } from '@retake/tape'

/** For an event: the step that was started or answered last by then, itself included. */
export function latestStep(view: RunView): (seq: number) => Step | undefined {
  const marks = view.recordedSteps
    .flatMap((step) => [step.seq, ...step.answerSeqs].map((seq) => ({ seq, step })))
    .toSorted((a, b) => a.seq - b.seq)
  return (seq) => {
    let low = 0
    let high = marks.length
    while (low < high) {
      const middle = (low + high) >> 1
      if ((marks[middle]?.seq ?? Infinity) <= seq) low = middle + 1
      else high = middle
    }
    return marks[low - 1]?.step
  }
}
