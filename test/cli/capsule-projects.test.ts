import { mkdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startModelServer } from '@retake/engine/testing'
import { expect, test } from 'vitest'
import { findNode } from '../../scripts/find-node.mjs'
import { run } from '../support/run-retake.mjs'
import { sampled } from '../support/soak.js'
import { cli, folderWith } from './workspace.js'

const repository = fileURLToPath(new URL('../../', import.meta.url))

/** Another machine: an empty folder with installed packages, and without the trusted runs of this one. */
async function elsewhere(folder: string, major: string) {
  renameSync(folder, `${folder}-gone`)
  const there = join(folder, '..', 'there')
  mkdirSync(there)
  // Without a network, in place of `npm ci`.
  symlinkSync(join(repository, 'node_modules'), join(there, 'node_modules'), 'junction')
  const node = await findNode(major)
  const env = { XDG_STATE_HOME: join(folder, '..', 'state') }
  const on = (...args: string[]) => run(node, [cli, ...args], there, { env })
  return { there, on }
}

/** Other versions than the one that records. */
const otherNodes = ['20', '22', '24'].filter(
  (major) => !process.versions.node.startsWith(`${major}.`),
)

test.each(sampled(otherNodes, (_, index) => index === 0))(
  'the demo and its fork replay from capsules in an empty folder on Node %s',
  async (major) => {
    const { folder, retake } = await folderWith({})
    expect(await retake(['demo', '--json'])).toMatchObject({ code: 0 })
    for (const name of ['last', 'last~1']) {
      const exported = await retake(['export', name, '--capsule', `../${name}.retake`])
      expect(exported).toMatchObject({ code: 0, stderr: '' })
    }
    const { there, on } = await elsewhere(folder, major)
    for (const name of ['last', 'last~1']) {
      const imported = await on('import', `../${name}.retake`, '--json')
      expect(imported).toMatchObject({ code: 0, stderr: '' })
      const { run: id } = JSON.parse(imported.stdout) as { run: string }
      const replayed = await on('replay', id, '--trust')
      expect(replayed.stderr).toMatch(/^identical/m)
      expect(replayed.code).toBe(0)
    }
    const agent = join(there, '.retake/demo/agent.ts')
    writeFileSync(agent, readFileSync(agent, 'utf8').replaceAll('careful', 'generous'))
    const changed = await on('replay', 'last', '--trust')
    expect(changed.stderr).toContain('Changed since the recording: .retake/demo/agent.ts.')
    const recorded = await on('replay', 'last', '--trust', '--code', 'recorded')
    expect(recorded.stderr).toMatch(/^identical/m)
  },
)

const GRAPH = `import { Annotation, END, MemorySaver, Send, START, StateGraph } from '@langchain/langgraph'
import { ChatOpenAI } from '@langchain/openai'
import { prompts } from './prompts/list.mjs'

const model = new ChatOpenAI({ model: 'gpt-4o-mini', maxRetries: 0 })
const say = async (text) => (await model.invoke(text)).text
const State = Annotation.Root({
  topic: Annotation(),
  jokes: Annotation({ reducer: (left, right) => [...left, ...right], default: () => [] }),
  best: Annotation(),
})

export const graph = new StateGraph(State)
  .addNode('choose', async () => ({ topic: await say(prompts.topic) }))
  .addNode('write', async ({ topic }) => {
    const joke = await say(prompts.joke + topic)
    return { jokes: [joke] }
  })
  .addNode('rank', async ({ jokes }) => ({ best: await say(prompts.best + jokes.join(' / ')) }))
  .addEdge(START, 'choose')
  .addConditionalEdges('choose', ({ topic }) =>
    ['old', 'new'].map((kind) => new Send('write', { topic: kind + ' ' + topic })),
  )
  .addEdge('write', 'rank')
  .addEdge('rank', END)
  .compile({ checkpointer: new MemorySaver() })
`
const LANGGRAPH = {
  'package.json': '{ "name": "jokes", "type": "module", "private": true }',
  'src/agent.mjs': `import { graph } from './graph.mjs'
const thread = { configurable: { thread_id: 'jokes' } }
for await (const update of await graph.stream({}, { ...thread, streamMode: 'updates' })) console.log(update)
for await (const { config, next } of graph.getStateHistory(thread))
  console.log(config.configurable.checkpoint_id, next)
`,
  'src/graph.mjs': GRAPH,
  'src/prompts/list.mjs': `export const prompts = { topic: 'Choose a topic.', joke: 'A joke about ', best: 'Choose one of ' }\n`,
}

test.each(sampled(otherNodes, (_, index) => index === 0))(
  'a LangGraph project replays from a capsule in an empty folder on Node %s',
  async (major) => {
    const server = await startModelServer({
      answer: ({ messages }) => ({
        text: `about ${messages.at(-1)?.text}`,
        usage: { input: 9, output: 9 },
      }),
    })
    const { folder, retake } = await folderWith(LANGGRAPH)
    symlinkSync(join(repository, 'node_modules'), join(folder, 'node_modules'), 'junction')
    const made = await retake(['record', 'src/agent.mjs'], { env: server.env })
    expect(made.code, made.stderr).toBe(0)
    await server.stop()
    const exported = await retake(['export', 'last', '--capsule', '../jokes.retake'])
    expect(exported).toMatchObject({ code: 0, stderr: '' })
    expect(exported.stdout).toContain('1 tape · 4 source files')

    const { there, on } = await elsewhere(folder, major)
    const imported = await on('import', '../jokes.retake')
    expect(imported).toMatchObject({ code: 0, stderr: '' })
    const replayed = await on('replay', 'last', '--trust')
    expect(replayed.stderr).toMatch(/^identical/m)
    expect(replayed.stdout).toBe(made.stdout)
    writeFileSync(join(there, 'src/graph.mjs'), GRAPH.replace("'old', 'new'", "'new', 'old'"))
    const changed = await on('replay', 'last', '--trust')
    expect(changed.stderr).toContain('Changed since the recording: src/graph.mjs.')
    const recorded = await on('replay', 'last', '--trust', '--code', 'recorded')
    expect(recorded.stderr).toMatch(/^identical/m)
    const line = GRAPH.split('\n').findIndex((each) => each.includes('const joke')) + 1
    const evaluated = await on('eval', 'last', '--trust', '--at', `src/graph.mjs:${line}`, 'topic')
    expect(evaluated.stdout).toContain("'old about Choose a topic.'")
  },
)
