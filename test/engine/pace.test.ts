import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { openTape } from '@retake/tape/node'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { fastest } from '../support/fastest.js'
import { type Provider, startProvider } from '../support/loopback-provider.mjs'
import { runTask } from '../support/run-library.mjs'
import { agentPath, makeWorkspace, type Workspace } from '../support/run-retake.mjs'
import { soakOnly } from '../support/soak.js'

let provider: Provider
let workspace: Workspace
beforeAll(async () => {
  provider = await startProvider({ maxLatencyMs: 4 })
  workspace = await makeWorkspace()
})
afterAll(async () => {
  await provider.close()
  await workspace.remove()
})

async function recordAgent(name: string, base = provider.url) {
  const agent = agentPath('library/stream-agent.mjs')
  const task = { agent, name, base }
  const { result } = await runTask(
    { mode: 'record', dir: workspace.folder, ...task },
    { cwd: workspace.folder },
  )
  const tape = result.run?.path ?? ''
  return {
    tape: openTape(tape),
    output: result.output,
    replay: async (pace: 'full' | 'recorded') => {
      const replayed = await runTask(
        { mode: 'replay', tape, options: { pace }, ...task },
        { cwd: workspace.folder },
      )
      return replayed.result
    },
  }
}

/** From the first to the last event. */
function durationOf(tape: ReturnType<typeof openTape>): number {
  return tape.event(tape.count - 1).at - tape.event(1).at
}

test.each(['full', 'recorded'] as const)(
  'streams keep their chunks, with all bytes and boundaries, at %s pace',
  async (pace) => {
    const { tape, output, replay } = await recordAgent('agent')
    const replayed = await replay(pace)
    expect(replayed.error).toBeUndefined()
    expect(replayed.output).toEqual(output)
    // The chunks of the first stream are the chunks of the first request on tape.
    const { reader, left, aborted } = output as Record<'reader' | 'left' | 'aborted', string[]>
    const events = [...tape.events()]
    const request = events.find(({ type }) => type === 'request')?.seq
    const chunks = events.filter(
      (event) => event.type === 'deliver' && event.op === request && event.part === 'chunk',
    )
    expect(chunks.map(({ seq }) => Buffer.from(tape.body(seq)).toString('base64'))).toEqual(reader)
    expect(reader.length).toBeGreaterThan(1)
    expect(left).toHaveLength(3)
    expect(aborted).toHaveLength(3)
    expect(aborted.at(-1)).toBe('AbortError')
  },
)

test('a recorded agent gets each chunk when it is sent, not later with others', async () => {
  const chunks = Array.from({ length: 10 }, (_, index) => `chunk ${index};`)
  const waiting = [...chunks]
  let stream: ServerResponse | undefined
  // Each chunk is sent when the agent has the one before.
  const server = createServer((request, response) => {
    if (request.url === '/stream') stream = response
    else response.end()
    const chunk = waiting.shift()
    if (chunk === undefined) stream?.end()
    else stream?.write(chunk)
  }).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const { output } = await recordAgent('onDemand', `http://127.0.0.1:${port}`)
  expect(output).toEqual(chunks.map((chunk) => btoa(chunk)))
})

test('recorded pace takes the recorded time, full pace far less', async () => {
  const { tape, output, replay } = await recordAgent('slowly')
  const recordedMs = durationOf(tape)
  expect(recordedMs).toBeGreaterThan(900)
  const took = async (pace: 'full' | 'recorded'): Promise<number> => {
    const replayed = await replay(pace)
    expect(replayed.output).toEqual(output)
    return replayed.ms ?? Number.NaN
  }
  const pacedMax = recordedMs * 2 + 1000
  const pacedMs = await fastest(pacedMax, () => took('recorded'))
  expect(pacedMs).toBeGreaterThanOrEqual(recordedMs * 0.8)
  expect(pacedMs).toBeLessThan(pacedMax)
  expect(await fastest(recordedMs / 2, () => took('full'))).toBeLessThan(recordedMs / 2)
})

test('retake replay --pace takes the recorded time, too', async () => {
  soakOnly()
  const recorded = await workspace.record('library/stream-main.mjs', { provider })
  expect(recorded.code, recorded.stderr).toBe(0)
  const replay = async (...flags: string[]) => {
    const { stdout, stderr } = await workspace.retake(['replay', 'last', '--json', ...flags])
    const receipt = JSON.parse(stdout) as { identical: boolean; wallMs: number }
    // With --json the agent's own output goes to stderr.
    expect(stderr).toContain(recorded.stdout)
    expect(receipt.identical).toBe(true)
    return receipt.wallMs
  }
  const recordedMs = 10 * 60 + 400
  expect(await replay('--pace')).toBeGreaterThanOrEqual(recordedMs * 0.8)
  expect(await fastest(recordedMs / 2, replay)).toBeLessThan(recordedMs / 2)
})
