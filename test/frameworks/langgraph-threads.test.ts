import { randomBytes } from 'node:crypto'
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Annotation, END, START, StateGraph } from '@langchain/langgraph'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { record, replay } from 'retake'
import { TapeSaver } from 'retake/langgraph'

let dir: string
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'retake-threads-'))
})
afterAll(() => rm(dir, { recursive: true, force: true }))

const add = (left: readonly string[], right: readonly string[]) => [...left, ...right]
const State = Annotation.Root({ said: Annotation<string[]>({ reducer: add, default: () => [] }) })

/** Answers with the number of things that were said so far. */
const chat = (checkpointer: TapeSaver) =>
  new StateGraph(State)
    .addNode('answer', ({ said }) => ({ said: [`that makes ${said.length}`] }))
    .addEdge(START, 'answer')
    .addEdge('answer', END)
    .compile({ checkpointer })

const config = { configurable: { thread_id: 'anna' } }
const talk = async (graph: ReturnType<typeof chat>, text: string) =>
  (await graph.invoke({ said: [text] }, config)).said

test('a thread continued in a second run replays without the first run', async () => {
  const graph = chat(new TapeSaver())
  await record({ name: 'first', dir }, () => talk(graph, 'hello'))
  const { run, output } = await record({ name: 'second', dir }, () => talk(graph, 'bye'))
  expect(output).toEqual(['hello', 'that makes 1', 'bye', 'that makes 3'])
  const replayed = await replay(run.path, () => talk(chat(new TapeSaver()), 'bye'))
  expect(replayed).toEqual(expect.objectContaining({ output, divergences: [] }))
})

test('a thread continues from the tape of an earlier run', async () => {
  const first = await record({ name: 'first', dir }, () => talk(chat(new TapeSaver()), 'hello'))
  const options = { tape: first.run.path }
  const goOn = () => talk(chat(new TapeSaver(options)), 'bye')
  const second = await record({ name: 'second', dir }, goOn)
  expect(second.output).toEqual(['hello', 'that makes 1', 'bye', 'that makes 3'])
  // Both runs are on the second tape.
  await rm(first.run.path)
  expect((await replay(second.run.path, goOn)).output).toEqual(second.output)
  const states = []
  const graph = chat(new TapeSaver({ tape: second.run.path }))
  for await (const { values } of graph.getStateHistory(config)) states.push(values.said.length)
  expect(states).toEqual([4, 3, 2, 2, 1, 0])
})

test('concurrent runs have separate threads, and a replay leaves no trace', async () => {
  const graph = chat(new TapeSaver())
  const runs = await Promise.all(
    ['one', 'two', 'three'].map((text) => {
      const own = { configurable: { thread_id: text } }
      return record({ name: text, dir }, async () => graph.invoke({ said: [text] }, own))
    }),
  )
  expect(runs.map(({ output }) => output.said[0])).toEqual(['one', 'two', 'three'])
  const saved = async () => (await graph.getState({ configurable: { thread_id: 'one' } })).values
  const before = await saved()
  const [run] = runs.map((each) => each.run.path)
  await replay(String(run), async () =>
    graph.invoke({ said: ['one'] }, { configurable: { thread_id: 'one' } }),
  )
  expect(await saved()).toEqual(before)
})

test('a growing state costs only what is new in it', async () => {
  const pages = Array.from({ length: 60 }, () => randomBytes(1000).toString('base64'))
  const book = new StateGraph(State)
    .addNode('write', ({ said }) => ({ said: [String(pages[said.length])] }))
    .addEdge(START, 'write')
    .addConditionalEdges('write', ({ said }) => (said.length < pages.length ? 'write' : END))
    .compile({ checkpointer: new TapeSaver() })
  const write = () => book.invoke({ said: [] }, { ...config, recursionLimit: 100 })
  const { run, output } = await record({ name: 'book', dir }, async () => write())
  const size = JSON.stringify(output).length
  // Each page is written once by its task and once into the state; all states together are 30 times as large.
  expect((await stat(run.path)).size).toBeLessThan(5 * size)
  const kept = await chat(new TapeSaver({ tape: run.path })).getState(config)
  expect(kept.values.said).toEqual(pages)
})

test('secrets in a state do not reach the tape', async () => {
  const secret = `sk-${'a1b2c3d4'.repeat(5)}`
  vi.stubEnv('SHOP_API_KEY', secret)
  try {
    const graph = chat(new TapeSaver())
    await record({ name: 'first', dir }, () => talk(graph, `my key is ${secret}`))
    const { run, output } = await record({ name: 'second', dir }, () => talk(graph, 'bye'))
    expect(output[0]).toContain(secret)
    expect(await readFile(run.path, 'latin1')).not.toContain(secret)
    const kept = new TapeSaver({ tape: run.path })
    const said = (await chat(kept).getState(config)).values.said as string[]
    expect(said).toHaveLength(4)
    expect(JSON.stringify(said)).not.toContain(secret)
  } finally {
    vi.unstubAllEnvs()
  }
})
