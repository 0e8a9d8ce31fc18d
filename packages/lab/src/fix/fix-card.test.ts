import { expect, test } from 'vitest'
import { fixLines } from './fix-card.js'
import type { FixOutcome } from './fix-run.js'

const look = { width: 100, paint: (_style: unknown, text: string) => text }

const outcome = (search: FixOutcome['search']): FixOutcome => ({
  version: 1,
  at: 0,
  run: 'r',
  oracle: 'exit:0',
  reason: 'exit code 1',
  result: {
    status: 'not-fixed',
    reason: '',
    reproduced: { trials: 2, failed: 2 },
    symptoms: [],
    fixes: [],
    tried: 2,
    costUsd: 0.001,
    forks: 9,
    ms: 1000,
  },
  corpus: 0,
  siblings: [],
  opposites: [],
  confined: true,
  newTrials: 9,
  notes: [],
  ...(search && { search }),
})

test.each([
  [undefined, '9 trials · $0.00100 · 1.0 s'],
  [{ forks: 83, costUsd: 0.008 }, '9 trials · 83 forks to locate the cause · $0.00900 · 1.0 s'],
  [{ forks: 1 }, '9 trials · 1 fork to locate the cause · cost unknown · 1.0 s'],
  [{ forks: 0, costUsd: 0 }, '9 trials · $0.00100 · 1.0 s'],
])('what was spent includes the search for the cause: %j', (search, spent) => {
  expect(fixLines(outcome(search), look as never)).toContain(`  spent    ${spent}`)
})
