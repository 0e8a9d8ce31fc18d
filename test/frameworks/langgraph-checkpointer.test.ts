import { execFile } from 'node:child_process'
import { rename, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startModelServer } from '@retake/engine/testing'
import type { ModelServer } from '@retake/engine/testing'
import { agentPath, makeWorkspace } from '../support/run-retake.mjs'
import type { Workspace } from '../support/run-retake.mjs'
import { onlyTape, tapesIn } from '../support/step-places.js'
import { soakOnly } from '../support/soak.js'

interface Travelled {
  readonly output: Readonly<Record<string, State[]>>
  readonly served: number
  readonly live: number
  readonly tape: string
}

interface State {
  readonly id: string
  readonly step: number
  readonly source: string
  readonly next: readonly string[]
  readonly values: { readonly messages?: readonly { type: string; data: { id?: string } }[] }
}

let server: ModelServer
let workspace: Workspace
let tape: string
let recorded: State[]
let stdout: string

beforeAll(async () => {
  workspace = await makeWorkspace()
  server = await startModel()
  const provider = { url: server.url, h2Url: server.url }
  const finished = await workspace.record('frameworks/langgraph-record.mjs', { provider })
  if (finished.code !== 0) throw new Error(finished.stderr)
  stdout = finished.stdout
  recorded = JSON.parse(stdout) as State[]
  tape = onlyTape(workspace.folder)
  await server.stop()
})
afterAll(() => workspace.remove())

/** No two answers are alike, so a second question cannot go unnoticed. */
function startModel(port?: number) {
  let count = 0
  return startModelServer({
    ...(port !== undefined && { port }),
    answer: ({ messages }) => {
      const { role, text } = messages.at(-1) ?? { role: 'user', text: '' }
      if (role === 'user' && text.includes('1182'))
        return { toolCalls: [{ name: 'find_order', args: { id: '1182' } }] }
      return { text: `${text} #${++count}` }
    },
  })
}

/** Another process; the model is gone unless it was started again. */
async function travel(args: readonly string[], from = tape): Promise<unknown> {
  const program = agentPath('frameworks/langgraph-travel.mjs')
  const { stdout: printed } = await promisify(execFile)(
    process.execPath,
    [program, from, ...args],
    {
      cwd: workspace.folder,
      env: { ...process.env, AGENT_BASE_URL: server.url },
      maxBuffer: 1e8,
    },
  )
  return JSON.parse(printed) as unknown
}

/** Without what a step draws anew each time it runs: its own id, and those of the messages of tools. */
const comparable = ({ id: _id, ...state }: State) => ({
  ...state,
  values: {
    ...state.values,
    messages: state.values.messages?.map(({ type, data }) => ({
      type,
      data: type === 'tool' ? { ...data, id: undefined } : data,
    })),
  },
})

/** LangGraph begins a branch with a copy of the checkpoint it goes back to, and counts its steps on from there. */
const asBranchOf = (index: number) =>
  recorded.slice(0, index + 1).map((state, at) => ({
    ...comparable(state),
    step: state.step + 1,
    source: at === index ? 'fork' : state.source,
  }))

test('a replay produces the same checkpoints, including their ids', async () => {
  const replayed = await workspace.replay()
  expect(replayed.stderr).toContain('identical')
  expect(replayed.stdout).toBe(stdout)
  expect(replayed.waysOut).toEqual({})
})

test('another process lists the checkpoints of the recorded run', async () => {
  expect(await travel(['history'])).toEqual(recorded)
  expect(recorded.map(({ next }) => next[0])).toEqual([
    undefined,
    'letters',
    'approve',
    'check',
    'redraft',
    'draft',
    'agent',
    'tools',
    'agent',
    '__start__',
  ])
})

test('LangGraph continues from each checkpoint without a request and with the same checkpoints', async () => {
  const travelled = (await travel(['travel'])) as Travelled
  // From the first to the last checkpoint: what is left of the 9 requests of the run.
  expect([travelled.served, travelled.live]).toEqual([9 + 9 + 8 + 8 + 7 + 6 + 5 + 2 + 2, 0])
  for (const [index, { id }] of recorded.entries()) {
    const expected = index === 0 ? [] : asBranchOf(index)
    expect(travelled.output[id]?.map(comparable), `from ${index}`).toEqual(expected)
  }
  // The journey is a run of its own, with the checkpoints it began with: it needs the first tape no more.
  await rename(tape, `${tape}.away`)
  try {
    expect(await travel(['travel again'], travelled.tape)).toEqual(travelled.output)
  } finally {
    await rename(`${tape}.away`, tape)
  }
})

test('a changed state that needs a new request fails with an error that names it, and sends nothing', async () => {
  const { stderr } = (await travel(['change', firstQuestion()]).catch(
    (error: unknown) => error,
  )) as {
    stderr: string
  }
  expect(stderr).toMatch(/code: 'ANSWER_NOT_ON_TAPE'/)
  expect(stderr).toMatch(/POST http:\/\/127\.0\.0\.1:\d+\/v1\/chat\/completions differs in/)
})

test('only changed requests go live, and only if allowed', async () => {
  soakOnly()
  server = await startModel(server.port)
  try {
    const { output, served, live } = (await travel(['change live', firstQuestion()])) as Travelled
    expect([served, live, server.requests.length]).toEqual([5, 1, 1])
    expect(server.requests[0]?.messages.at(-1)?.text).toBe('And order 7?')
    expect(output).toEqual(['Draft an answer #2', 'Draft an answer #3'])
  } finally {
    await server.stop()
  }
})

test('a killed run has its checkpoints up to the kill', async () => {
  soakOnly()
  server = await startModel(server.port)
  try {
    const agent = join(workspace.folder, 'killed.mjs')
    await writeFile(
      agent,
      `
      import { TapeSaver } from '${import.meta.resolve('retake/langgraph')}'
      import { config, refundGraph } from '${agentPath('frameworks/langgraph-refund.mjs')}'
      const messages = [{ role: 'user', content: 'Where is order 1182?' }]
      await refundGraph(new TapeSaver()).invoke({ messages }, config)
      process.kill(process.pid, 'SIGKILL')
      `,
    )
    const known = tapesIn(workspace.folder)
    await workspace.retake(['record', agent], { env: { AGENT_BASE_URL: server.url } })
    const killed = onlyTape(workspace.folder, known)
    const states = (await travel(['history'], killed)) as State[]
    expect(states.map(({ next }) => next)).toEqual(recorded.slice(2).map(({ next }) => next))
  } finally {
    await server.stop()
  }
})

test('a fork has the checkpoints of its parent up to the fork, and its own after it', async () => {
  server = await startModel(server.port)
  try {
    const env = { AGENT_BASE_URL: server.url }
    const known = tapesIn(workspace.folder)
    const forked = await workspace.retake(
      ['fork', basename(tape, '.tape'), '--at', '4', '--json'],
      { env },
    )
    expect(forked.code, forked.stderr).toBe(0)
    const branch = onlyTape(workspace.folder, known)
    const states = (await travel(['history'], branch)) as State[]
    const isParents = ({ next }: State) =>
      ['redraft', 'draft', 'agent', 'tools', '__start__'].includes(String(next[0]))
    expect(states.filter(isParents)).toEqual(recorded.filter(isParents))
    expect(states.map(({ next }) => next)).toEqual(recorded.map(({ next }) => next))
    expect(states[0]?.values).toMatchObject({
      drafts: ['Draft an answer #2', 'Draft an answer #1'],
    })
    expect(states[0]?.id).not.toBe(recorded[0]?.id)
  } finally {
    await server.stop()
  }
})

const firstQuestion = (): string => String(recorded.at(-2)?.id)
