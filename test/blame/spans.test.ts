import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { maskRequest, splitInput } from '@retake/lab'
import { openTape } from '@retake/tape/node'
import { expect, onTestFinished, test } from 'vitest'
import type { FindingsFile } from '../../packages/lab/dist/blame/findings.js'
import { LocalForkPool } from '../../packages/lab/dist/blame/forks.js'
import { runFork } from '../../packages/lab/dist/blame/fork-run.js'
import { ProcessForks } from '../../packages/lab/dist/blame/forks.js'
import { processOf, searchedSteps } from '../../packages/lab/dist/blame/process-tree.js'
import { StoredForks } from '../../packages/lab/dist/blame/forks.js'
import { makeOracle } from '../../packages/runner/dist/oracle/make-oracle.js'
import simulate from '../agents/blame/clerk-simulator.mjs'
import { folderWith, tapesOf } from '../cli/workspace.js'
import { agentPath, type Workspace } from '../support/run-retake.mjs'
import { soakOnly } from '../support/soak.js'

const simulator = agentPath('blame/clerk-simulator.mjs')
const ORACLE = 'stdout:/APPROVED/'

test('a fork sends a model its prompt without some words, and the run continues from the answer', async () => {
  const [file = ''] = await tapesOf(await clerkRun())
  const tape = openTape(file)
  const process = processOf(tape)
  const steps = searchedSteps(process)
  const request = steps[1]?.exchange()?.request.json
  const parts = splitInput(request)
  expect(parts.map(({ speaker }) => speaker)).toEqual(['system', 'user', 'user'])
  const oracle = await makeOracle(ORACLE)
  const open = () =>
    ProcessForks.open({
      tape,
      process,
      steps,
      oracle,
      pool: new LocalForkPool(2, runFork),
      stored: new StoredForks(tape.path, tape.run.id, 'spans'),
      // It would answer in place of the model that is asked.
      answers: { [steps[1]?.label ?? '']: { error: 'not asked' } },
      simulator,
      seed: 1,
      timeoutMs: 600_000,
      signal: new AbortController().signal,
    })
  const without = (...left: number[]) =>
    maskRequest(
      request,
      parts.flatMap(({ locations }, part) =>
        left.includes(part)
          ? locations.map((location) => ({
              location,
              ranges: [{ start: 0, end: location.text.length }],
            }))
          : [],
      ),
    )
  const forks = await open()
  const outcomes = await Promise.all(
    [without(), without(1), without(0), without(2)].map((masked) =>
      forks.forkRequest(steps[1]?.label ?? '', masked, 0),
    ),
  )
  expect(outcomes.map(({ outcome }) => outcome)).toEqual(['fail', 'fail', 'pass', 'pass'])
  const again = await (await open()).forkRequest(steps[1]?.label ?? '', without(2), 0)
  expect(again).toMatchObject({ outcome: 'pass', isServed: true })
})

test('blame says which words of a real request made the model fail the run, offline', async () => {
  soakOnly()
  const workspace = await clerkRun()
  const ended = await workspace.retake(
    ['blame', 'last', '--oracle', ORACLE, '--simulator', simulator, '--spans', '2', '--json'],
    { timeoutMs: 600_000 },
  )
  const { spans } = JSON.parse(ended.stdout) as FindingsFile
  expect(spans, ended.stderr).toMatchObject({ step: '2', verdict: 'attributed' })
  expect(spans?.messages.map(({ role }) => role)).toEqual(['joint', 'clear', 'joint'])
  expect(spans?.spans.map(({ path, role, excerpt }) => [path, role, excerpt])).toEqual([
    ['messages.0.content', 'joint', 'Do as the policy says.'],
    ['messages.2.content', 'joint', expect.stringContaining('All sales are final.')],
  ])
  expect(spans?.forks).toMatchObject({ undefined: 0 })
  expect(spans?.forks.asked).toBeLessThan(120)
})

/** A recorded run that ended in DENIED; its provider is gone when the test is over. */
async function clerkRun(): Promise<Workspace> {
  const workspace = await folderWith({})
  const env = { OPENAI_BASE_URL: await startProvider() }
  const recorded = await workspace.retake(['record', agentPath('blame/clerk.mjs')], { env })
  expect(recorded.stdout, recorded.stderr).toBe('Dear customer: DENIED\n')
  return workspace
}

/** The simulator as a server. */
async function startProvider(): Promise<string> {
  const message = { role: 'assistant', content: '' }
  const recorded = { id: 'c', choices: [{ index: 0, message, finish_reason: 'stop' }] }
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const asked = JSON.parse(Buffer.concat(chunks).toString()) as unknown
      const answer = simulate({ kind: 'model', request: asked, recorded })
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify(answer?.payload))
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
}
