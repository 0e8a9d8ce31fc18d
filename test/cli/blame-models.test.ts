import { once } from 'node:events'
import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import type { FindingsFile } from '../../packages/lab/dist/blame/findings.js'
import { folderWith } from './workspace.js'
import { soakOnly } from '../support/soak.js'

const foundBy = (stdout: string): FindingsFile => JSON.parse(stdout) as FindingsFile

test('the bug of the demo: the retrieval tool is the root, the approval only repeats it, in fewer than 60 forks', async () => {
  soakOnly()
  const { retake } = await folderWith({})
  const { stdout, stderr, code } = await retake(['blame', '--demo', '--json'], {
    timeoutMs: 500_000,
  })
  expect(stderr).toContain('decision: APPROVED: €249. Day 41 of a 60-day window.')
  expect(code).toBe(3)
  const { findings, steps } = foundBy(stdout)
  expect(findings.verdict).toBe('attributed')
  const named = (role: string): string[] =>
    steps.flatMap(({ name }, index) => (findings.steps[index]?.role === role ? [name] : []))
  expect(named('root')).toEqual(['tool search_policy'])
  expect(findings.steps.at(-1)?.role).toBe('echo')
  expect(findings.causes).toHaveLength(1)
  expect(findings.forks.asked).toBeLessThan(60)
  expect(findings.forks.undefined).toBe(0)
})

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const isFooled = JSON.stringify(await json(request)).includes('within 60 days')
  const message = { role: 'assistant', content: isFooled ? 'APPROVED' : 'DENIED' }
  const usage = { prompt_tokens: 20, completion_tokens: 1, total_tokens: 21 }
  response.setHeader('content-type', 'application/json')
  response.end(JSON.stringify({ choices: [{ index: 0, message }], usage }))
}

/** A model that approves whoever it is told may return within 60 days. */
async function startClerk(): Promise<string> {
  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/chat/completions`
}

// About 70 forks: too many for every run of the tests.
test('--spans names the words that a model was misled by', async () => {
  soakOnly()
  const url = await startClerk()
  const workspace = await folderWith({
    'agent.mjs': `
const response = await fetch('${url}', {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({
    model: 'clerk',
    messages: [
      { role: 'system', content: 'You decide about refunds.' },
      { role: 'user', content: 'The parcel came late. Returns are free within 60 days. Thanks.' },
    ],
  }),
})
const { choices } = await response.json()
console.log(choices[0].message.content)`,
  })
  expect((await workspace.retake(['record', 'agent.mjs'])).stdout).toBe('APPROVED\n')
  const blame = ['blame', 'last', '--oracle', 'stdout:DENIED', '--spans']
  const { stdout, stderr } = await workspace.retake([...blame, '1', '--json'], {
    timeoutMs: 1_200_000,
  })
  expect(stderr).toContain('cost unknown')
  const { spans, findings } = foundBy(stdout)
  // Asked the same, the model says the same: no step is to blame, its words are.
  expect(findings).toMatchObject({ verdict: 'no attributable step', causes: [] })
  expect(spans).toMatchObject({ step: '1', verdict: 'attributed' })
  expect(spans?.messages.map(({ role }) => role)).toEqual(['clear', 'root'])
  expect(spans?.spans.map(({ excerpt }) => excerpt)).toEqual(['Returns are free within 60 days.'])
  expect(spans?.forks.tokens).toBe(21 * (spans?.forks.asked ?? 0))

  const wrong = await workspace.retake([...blame, '4'])
  expect(wrong.code).toBe(2)
  expect(wrong.stderr).toContain('--spans 4 is not a model step.')
  const capped = await workspace.retake(['blame', 'last', '--oracle', 'exit:1', '--max-usd', '1'])
  expect(capped.code).toBe(2)
  expect(capped.stderr).toContain('--max-usd cannot be guaranteed')
})
