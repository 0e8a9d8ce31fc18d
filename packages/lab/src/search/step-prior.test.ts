import { expect, test } from 'vitest'
import { RunScript, user } from '../../../tape/test-support/run-script.js'
import { findFailures, priorSteps, stepPrior } from './step-prior.js'

/** Looks into a ledger; the second look fails, and the model makes up a sum. */
const ledger = (): RunScript => {
  const script = new RunScript()
    .chat([user('What do we owe?')], [{ name: 'open', args: { book: 7 } }])
    .tool('open', { book: 7 }, { pages: 12 })
    .chat([user('go on')], [{ name: 'read', args: { page: 3 } }])
  const op = script.add({ type: 'call', kind: 'tool', name: 'read', site: '/agent.ts:2:2' })
  script.add({
    type: 'result',
    op,
    error: { class: 'Error', name: 'Error', message: 'page 3 is torn' },
  })
  return script.chat([user('well?')], 'Let us assume 480.').end(1)
}

test('steps of a tape are read as model messages and tool answers', () => {
  expect(priorSteps(ledger().view().recordedSteps)).toEqual([
    { role: 'agent', speaker: 'model', text: '', calls: 'open {"book":7}' },
    { role: 'environment', speaker: 'open', text: '{"pages":12}' },
    { role: 'agent', speaker: 'model', text: '', calls: 'read {"page":3}' },
    { role: 'environment', speaker: 'read', text: 'page 3 is torn', isError: true },
    { role: 'agent', speaker: 'model', text: 'Let us assume 480.', calls: '' },
  ])
})

test('before any fork, the callers of the first failure and inventors of facts are suspected', () => {
  const shares = stepPrior(ledger().view().recordedSteps)
  const order = shares.map((_, step) => step).toSorted((a, b) => shares[b]! - shares[a]!)
  expect(order.slice(0, 2)).toEqual([2, 4])
  expect(shares.reduce((sum, share) => sum + share, 0)).toBeCloseTo(1, 9)
})

test('a model that could not answer is an environment that failed', () => {
  const script = new RunScript()
  const op = script.add(
    {
      type: 'request',
      seam: 'fetch',
      method: 'POST',
      url: 'https://api.example.com/v1/chat/completions',
      headers: [],
      site: '/agent.ts:1:1',
    },
    '{"model":"gpt-5-mini","messages":[]}',
  )
  script.add({ type: 'response', op, status: 429, statusText: 'Too Many', headers: [] })
  script.add({ type: 'deliver', op, part: 'end' })
  const [step] = priorSteps(script.end().view().recordedSteps)
  expect(step).toMatchObject({ role: 'environment', isError: true })
  expect(findFailures([step!])).toEqual({ failed: [true], first: 0, suspect: 0 })
})

test('a run without steps has no prior', () => {
  expect(stepPrior([])).toEqual([])
})
