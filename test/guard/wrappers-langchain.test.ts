import { AIMessage, ToolMessage, type BaseMessage } from '@langchain/core/messages'
import { DynamicTool, StructuredTool } from '@langchain/core/tools'
import {
  Command,
  interrupt,
  isInterrupted,
  MemorySaver,
  MessagesAnnotation,
  Send,
  StateGraph,
} from '@langchain/langgraph'
import { ToolNode } from '@langchain/langgraph/prebuilt'
import { ChatOpenAI } from '@langchain/openai'
import { createAgent, tool } from 'langchain'
import { GuardError, record, replay } from 'retake'
import { guardTools, nameTools } from 'retake/langchain'
import { expect, expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import { asks, DENIED, gate, model, sent, stepsOf, tempFolder } from './wrappers-setup.js'

const schema = z.object({ of: z.string().transform((text) => text.toUpperCase()) })

/** Two tools that note what they were given. */
function makeTools() {
  const started: unknown[] = []
  const make = (name: string) =>
    tool(
      (input) => {
        started.push([name, input])
        return `${name} ${input.of}`
      },
      { name, description: `Does ${name}.`, schema },
    )
  return { started, tools: [make('look'), make('wipe')] }
}

const chat = (url: string) =>
  new ChatOpenAI({ model: 'gpt-4o', apiKey: 'none', configuration: { baseURL: `${url}/v1` } })
const prompt = { messages: [{ role: 'user', content: 'Look, then wipe.' }] }
const call = (name: string, args: Record<string, unknown> = { of: 'a' }) => ({
  type: 'tool_call' as const,
  id: 'call-1',
  name,
  args,
})

test('a denied tool never starts, the model reads why, and the agent continues', async () => {
  const server = await model(asks('look', { of: 'a' }), asks('wipe', { of: 'b' }), {
    text: 'Done.',
  })
  const { started, tools } = makeTools()
  const guarded = guardTools(gate(), tools)
  expectTypeOf(guarded).toEqualTypeOf<typeof tools>()
  const { messages } = await createAgent({ model: chat(server.url), tools: guarded }).invoke(prompt)
  expect(started).toEqual([['look', { of: 'A' }]])
  expect(sent(server, 2)).toContain('look A')
  expect(sent(server, 3)).toMatch(DENIED)
  expect(messages.at(-1)?.text).toBe('Done.')
  const told = messages.filter((each): each is ToolMessage => ToolMessage.isInstance(each))
  expect(told.map(({ name, status }) => [name, status])).toEqual([
    ['look', 'success'],
    ['wipe', 'error'],
  ])
  expect(server.requests[0]?.body['tools']).toMatchObject([
    { function: { name: 'look', description: 'Does look.', parameters: { required: ['of'] } } },
    { function: { name: 'wipe' } },
  ])
})

test('with throw, the run of the agent ends with the error of the guard', async () => {
  const { started, tools } = makeTools()
  const [, wipe] = guardTools(gate(), tools, { onDenied: 'throw' })
  await expect(wipe?.invoke(call('wipe'))).rejects.toThrow(GuardError)
  expect(started).toEqual([])
})

test('meaningless options are refused', () => {
  const wrong = { onDenied: 'trow' } as unknown as { onDenied: 'throw' }
  expect(() => guardTools(gate(), makeTools().tools, wrong)).toThrow(
    'onDenied: It cannot be "trow". Did you mean throw?',
  )
})

test('a program that calls a tool itself gets the error, not a text about it', async () => {
  const { tools } = makeTools()
  const [look, wipe] = guardTools(gate(), tools)
  await expect(wipe?.invoke({ of: 'b' })).rejects.toMatchObject({ code: 'POLICY_DENIED' })
  expect(await look?.invoke({ of: 'a' })).toBe('look A')
})

test('a ToolNode runs guarded tools', async () => {
  const { started, tools } = makeTools()
  const node = new ToolNode(guardTools(gate(), nameTools(tools)))
  const asked = new AIMessage({
    content: '',
    tool_calls: [call('look'), { ...call('wipe'), id: 'call-2' }],
  })
  const { messages } = (await node.invoke({ messages: [asked] })) as { messages: BaseMessage[] }
  expect(messages.map((each) => each.text)).toEqual(['look A', expect.stringMatching(DENIED)])
  expect(started).toEqual([['look', { of: 'A' }]])
})

test('artifacts are passed on, and a denied call has none', async () => {
  const make = (name: string) =>
    tool(() => ['found', { pages: 3 }], {
      name,
      description: name,
      schema: z.object({}),
      responseFormat: 'content_and_artifact',
    })
  const [look, wipe] = guardTools(gate(), [make('look'), make('wipe')])
  expect(await look?.invoke(call('look', {}))).toMatchObject({
    content: 'found',
    artifact: { pages: 3 },
    status: 'success',
  })
  const denied = (await wipe?.invoke(call('wipe', {}))) as ToolMessage
  expect(denied).toBeInstanceOf(ToolMessage)
  expect(denied.text).toMatch(DENIED)
  expect([denied.status, denied.artifact, denied.tool_call_id]).toEqual([
    'error',
    undefined,
    'call-1',
  ])
})

test('tool classes, text tools and streaming tools are guarded, too', async () => {
  class Adder extends StructuredTool {
    readonly #by = 1
    override name = 'add'
    override description = 'Adds one.'
    override schema = z.object({ to: z.number() })
    protected override _call({ to }: { to: number }): Promise<string> {
      return Promise.resolve(String(to + this.#by))
    }
  }
  const echo = new DynamicTool({ name: 'echo', description: 'Echo.', func: async (text) => text })
  const pieces = tool(
    async function* () {
      yield 'a'
      yield 'b'
      return 'whole'
    },
    { name: 'pieces', description: 'In pieces.', schema: z.object({}) },
  )
  const [add, same, whole] = guardTools(gate(), [new Adder(), echo, pieces] as const)
  expect(add).toBeInstanceOf(Adder)
  expect(await add.invoke({ to: 2 })).toBe('3')
  expect(await same.invoke('hello')).toBe('hello')
  expect(await whole.invoke({})).toBe('whole')
})

test('a message that a tool returns is a message again', async () => {
  const answer = tool(
    () => new ToolMessage({ content: 'mine', tool_call_id: 'call-1', artifact: { a: 1 } }),
    { name: 'answer', description: 'Answers.', schema: z.object({}) },
  )
  const [guarded] = guardTools(gate(), [answer])
  const message = await guarded?.invoke(call('answer', {}))
  expect(message).toBeInstanceOf(ToolMessage)
  expect(message).toMatchObject({ content: 'mine', artifact: { a: 1 } })
})

test('commands of a tool to the graph are executed with their messages, also on replay', async () => {
  const dir = tempFolder()
  let started = 0
  const jump = tool(
    (_input, config: { toolCall?: { id?: string } }) => {
      started += 1
      const message = new ToolMessage({ content: 'moved', tool_call_id: config.toolCall?.id ?? '' })
      return new Command({
        update: { messages: [message] },
        goto: [new Send('next', { messages: [message] })],
      })
    },
    { name: 'jump', description: 'Jumps.', schema: z.object({}) },
  )
  const agent = async () => {
    const node = new ToolNode(guardTools(gate({ dir }), [jump]))
    const graph = new StateGraph(MessagesAnnotation)
      .addNode('tools', node, { ends: ['next'] })
      .addNode('next', ({ messages }) => ({
        messages: [new AIMessage(`next saw ${messages.map((each) => each.type).join()}`)],
      }))
      .addEdge('__start__', 'tools')
      .compile()
    const asked = new AIMessage({ content: '', tool_calls: [call('jump', {})] })
    const { messages } = await graph.invoke({ messages: [asked] })
    return messages.map((each) => [each.type, each.text])
  }
  const expected = [
    ['ai', ''],
    ['tool', 'moved'],
    ['ai', 'next saw tool'],
  ]
  expect(await agent()).toEqual(expected)
  const recorded = await record({ name: 'graph', dir }, agent)
  expect(recorded.output).toEqual(expected)
  expect(await replay(recorded.run.path, agent)).toEqual(
    expect.objectContaining({ output: expected, divergences: [] }),
  )
  expect(started).toBe(2)
})

test('a tool can interrupt the graph and is called again when it continues', async () => {
  const dir = tempFolder()
  const ask = tool(() => `they said ${String(interrupt('Really?'))}`, {
    name: 'ask',
    description: 'Asks.',
    schema: z.object({}),
  })
  const agent = async () => {
    const graph = new StateGraph(MessagesAnnotation)
      .addNode('tools', new ToolNode(guardTools(gate({ dir }), [ask])))
      .addEdge('__start__', 'tools')
      .compile({ checkpointer: new MemorySaver() })
    const thread = { configurable: { thread_id: '1' } }
    const asked = new AIMessage({ content: '', tool_calls: [call('ask', {})] })
    const held = await graph.invoke({ messages: [asked] }, thread)
    const { messages } = await graph.invoke(new Command({ resume: 'yes' }), thread)
    return [isInterrupted(held), messages.at(-1)?.text]
  }
  const expected = [true, 'they said yes']
  expect(await agent()).toEqual(expected)
  const recorded = await record({ name: 'graph', dir }, agent)
  expect(recorded.output).toEqual(expected)
  expect(await replay(recorded.run.path, agent)).toEqual(
    expect.objectContaining({ output: expected, divergences: [] }),
  )
})

test('the guard knows the schemas, for calls from elsewhere', async () => {
  const { tools } = makeTools()
  const run = gate()
  guardTools(run, tools)
  expect(run.toolNames).toEqual(['look', 'wipe'])
  expect(await run.call('look', { of: 7 })).toMatchObject({ error: { code: 'INPUT_INVALID' } })
  expect(await run.call('look', { of: 'a' })).toMatchObject({ output: 'look A' })
})

test('an abort of LangChain reaches the tool', async () => {
  const controller = new AbortController()
  let isAborted = false
  const slow = tool(
    (_input, { signal }) =>
      new Promise((_resolve, reject) => {
        signal?.addEventListener('abort', () => {
          isAborted = true
          reject(new Error('given up'))
        })
        controller.abort()
      }),
    { name: 'slow', description: 'Slow.', schema: z.object({}) },
  )
  const [guarded] = guardTools(gate(), [slow])
  const asked = guarded?.invoke(call('slow', {}), { signal: controller.signal })
  await expect(asked).rejects.toThrow(/abort|given up/i)
  expect(isAborted).toBe(true)
})

test('a guarded tool is one step of a recording and does not run on replay', async () => {
  const server = await model(asks('look', { of: 'a' }), asks('wipe', { of: 'b' }), {
    text: 'Done.',
  })
  const { started, tools } = makeTools()
  const dir = tempFolder()
  const agent = async () => {
    const guarded = guardTools(gate({ dir }), nameTools(tools))
    const made = createAgent({ model: chat(server.url), tools: guarded })
    const { messages } = await made.invoke(prompt)
    return messages.map((each) => [each.type, each.text])
  }
  const recorded = await record({ name: 'agent', dir }, agent)
  expect(stepsOf(recorded.run.path).filter((step) => step.startsWith('tool'))).toHaveLength(2)
  await server.stop()
  const again = await replay(recorded.run.path, agent)
  expect(again).toEqual(expect.objectContaining({ output: recorded.output, divergences: [] }))
  expect(started).toHaveLength(1)
})
