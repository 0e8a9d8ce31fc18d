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

test.each([
  [{ forks: 0, isStopped: true }, 'not searched: a limit stopped the search before the first fork'],
  [{ forks: 12, isStopped: true }, 'not found: a limit stopped the search after 12 forks'],
  [{ forks: 12 }, 'no step was found that explains the failure'],
])('a search that a limit stopped is not said to have found nothing: %j', (search, text) => {
  const lines = fixLines({ ...outcome(search), causes: [] }, look as never)
  expect(lines).toContain(`  cause    ${text} (retake blame r)`)
})

test('a refused key gets advice about the key, and not about --model', () => {
  const evidence = 'POST http://127.0.0.1:4000/v1/chat refused the credentials with 401.'
  const { result, ...rest } = outcome(undefined)
  const symptoms = [{ class: 'authentication', confidence: 'certain', evidence, data: {} }] as never
  const text = fixLines({ ...rest, result: { ...result, tried: 0, symptoms } }, look as never).join(
    ' ',
  )
  expect(text).toContain('check the key that the run uses')
  expect(text).not.toContain('--model')
})
