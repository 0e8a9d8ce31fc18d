import type { RunView } from '@retake/tape'
import type { SearchHit, SearchProgress } from './run-parts.js'

/** Searches everything that can be read of a run, ignoring case. */
export function* searchRun(view: RunView, text: string): Generator<SearchProgress> {
  const wanted = text.toLowerCase()
  const { steps } = view
  for (const [index, step] of steps.entries()) {
    const start = step.title.toLowerCase().indexOf(wanted)
    const hits: SearchHit[] =
      start < 0
        ? []
        : [
            {
              step: step.label,
              seq: step.seq,
              field: 'title',
              path: '',
              snippet: step.title,
              start,
              length: wanted.length,
            },
          ]
    const done = index === steps.length - 1
    yield { hits, searched: index + 1, total: steps.length, done, cut: false }
  }
}
