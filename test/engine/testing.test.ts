import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import Anthropic from '@anthropic-ai/sdk'
import { BedrockRuntimeClient, InvokeModelCommand } from '@aws-sdk/client-bedrock-runtime'
import { GoogleGenAI } from '@google/genai'
import { Mistral } from '@mistralai/mistralai'
import { startModelServer } from '@retake/engine/testing'
import type { ModelServer, ScriptedAnswer } from '@retake/engine/testing'
import { messageText, readRun, type Exchange } from '@retake/tape'
import { openTape } from '@retake/tape/node'
import { Ollama } from 'ollama'
import OpenAI from 'openai'
import { afterEach, describe, expect, test } from 'vitest'
import { modelClients, statusOf } from '../support/model-clients.js'
import { makeWorkspace, run } from '../support/run-retake.mjs'

let server: ModelServer | undefined
const serve = async (...answers: ScriptedAnswer[]): Promise<ModelServer> =>
  (server = await startModelServer({ answers }))

afterEach(async () => {
  await server?.stop()
  server = undefined
})

describe.each(modelClients.map((client) => [client.name, client] as const))('%s', (_, client) => {
  const ways = [
    ['whole', client.ask],
    ['streamed', client.stream],
  ] as const

  test.each(ways)('gets text and tokens, %s', async (way, ask) => {
    const served = await serve({
      text: 'It is on its way ☃ 🚀.',
      usage: { input: 40, cachedInput: 60, output: 12 },
    })
    const heard = await ask(served, 'Where is order 1182?')
    expect(heard).toMatchObject({
      text: 'It is on its way ☃ 🚀.',
      calls: [],
      input: 100,
      output: 12,
    })
    expect(heard.pieces ?? 1).toBe(way === 'streamed' ? 7 : 1)
    expect(served.requests).toMatchObject([
      {
        number: 1,
        format: client.format,
        provider: client.provider,
        method: 'POST',
        stream: way === 'streamed',
        messages: [{ role: 'user', text: 'Where is order 1182?' }],
      },
    ])
  })

  test.each(ways)('gets several tool calls beside text, %s', async (_, ask) => {
    const calls = [
      { name: 'lookup_order', args: { id: '1182', note: 'für 東京' } },
      { name: 'lookup_customer', args: {} },
    ]
    const heard = await ask(await serve({ text: 'Let me see.', toolCalls: calls }), 'Where?')
    expect(heard).toMatchObject({ text: 'Let me see.', calls })
  })

  test.each(ways)('gets text after reasoning, %s', async (_, ask) => {
    const answer = { text: 'Yes.', reasoning: 'Let me think.', usage: { output: 9, reasoning: 6 } }
    expect(await ask(await serve(answer), 'Well?')).toMatchObject({ text: 'Yes.', output: 9 })
  })

  test.each(ways)('gets an error with its status and message, %s', async (_, ask) => {
    const error = { status: 429, message: 'Slow down, please.', retryAfter: 3 }
    const failure = await ask(await serve({ error }), 'Now!').catch((thrown: unknown) => thrown)
    expect(String(failure)).toContain('Slow down, please.')
    expect(statusOf(failure)).toBe(429)
  })

  test.each(ways)('gets an error when the script is exhausted, %s', async (_, ask) => {
    const served = await serve()
    const failure = await ask(served, 'One more').catch((thrown: unknown) => thrown)
    expect(String(failure)).toContain('The script of the model server has ended.')
    expect(statusOf(failure)).toBe(500)
    expect(served.requests).toHaveLength(1)
  })
})

/** A request of every format and dialect, whole and streamed. */
const requests = (stream: boolean) => {
  const messages = [{ role: 'user', content: 'Where is order 1182?' }]
  const blocks = [{ role: 'user', content: [{ text: 'Where is order 1182?' }] }]
  const chat = { model: 'some-model', messages, stream, stream_options: { include_usage: true } }
  const gemini = stream ? 'streamGenerateContent' : 'generateContent'
  const contents = [{ role: 'user', parts: [{ text: 'Where is order 1182?' }] }]
  const claude = { anthropic_version: 'vertex-2023-10-16', max_tokens: 9, messages, stream }
  const invoke = stream ? 'invoke-with-response-stream' : 'invoke'
  const vertex = '/vertex/v1/projects/p/locations/l/publishers'
  return [
    { path: '/openai/v1/chat/completions', body: chat },
    { path: '/azure/openai/deployments/d/chat/completions?api-version=1', body: chat },
    { path: '/groq/openai/v1/chat/completions', body: chat },
    { path: '/mistral/v1/chat/completions', body: chat },
    {
      path: '/openai/v1/responses',
      body: { model: 'some-model', input: 'Where is order 1182?', stream },
    },
    {
      path: '/anthropic/v1/messages',
      body: { model: 'some-model', ...claude },
      headers: { 'anthropic-version': '2023-06-01' },
    },
    {
      path: `${vertex}/anthropic/models/m:${stream ? 'streamRawPredict' : 'rawPredict'}`,
      body: claude,
    },
    { path: `/gemini/v1beta/models/m:${gemini}?alt=sse`, body: { contents } },
    { path: `${vertex}/google/models/m:${gemini}`, body: { contents } },
    {
      path: `/bedrock/model/amazon.nova-lite-v1%3A0/converse${stream ? '-stream' : ''}`,
      body: { messages: blocks },
    },
    { path: `/bedrock/model/anthropic.claude/${invoke}`, body: claude },
    {
      path: `/bedrock/model/amazon.nova-lite-v1%3A0/${invoke}`,
      body: { schemaVersion: 'messages-v1', messages: blocks },
    },
    { path: `/bedrock/model/openai.gpt-oss-20b-1%3A0/${invoke}`, body: chat },
    { path: '/ollama/api/chat', body: { model: 'some-model', messages, stream } },
  ]
}

/** Models that give only text. */
const textRequests = (stream: boolean) => {
  const invoke = stream ? 'invoke-with-response-stream' : 'invoke'
  const text = 'Where is order 1182?'
  return [
    { path: `/bedrock/model/us.meta.llama3-3-70b/${invoke}`, body: { prompt: text } },
    { path: `/bedrock/model/mistral.mistral-7b/${invoke}`, body: { prompt: text } },
    { path: `/bedrock/model/amazon.titan-text-v1/${invoke}`, body: { inputText: text } },
    { path: `/bedrock/model/cohere.command-r/${invoke}`, body: { message: text } },
    { path: '/ollama/api/generate', body: { model: 'm', prompt: text, stream } },
  ]
}

/** Records what an agent that sends these requests gets. */
async function exchangesOf(served: ModelServer, sent: readonly object[]): Promise<Exchange[]> {
  const workspace = await makeWorkspace()
  try {
    const { code, stderr } = await workspace.record('send-requests.mjs', {
      provider: { url: served.url, h2Url: served.url },
      env: { AGENT_REQUESTS: JSON.stringify(sent) },
    })
    expect(code, stderr).toBe(0)
    const runs = join(workspace.folder, '.retake/runs')
    const name = (await readdir(runs)).find((file) => file.endsWith('.tape'))
    const { steps } = readRun(openTape(join(runs, String(name))))
    return steps.filter(({ kind }) => kind === 'model').map((step) => step.exchange()!)
  } finally {
    await workspace.remove()
  }
}

describe.each([
  ['whole', false],
  ['streamed', true],
])('the tape shows what the script says, %s', (_, stream) => {
  const usage = { input: 40, cachedInput: 60, cacheWrite: 0, output: 12 }

  test('text, reasoning, tool calls and tokens in every format', async () => {
    const sent = requests(stream)
    const answer = {
      text: 'It is on its way ☃ 🚀.',
      reasoning: 'I should look it up.',
      toolCalls: [
        { id: 'call12345', name: 'lookup_order', args: { id: '1182' } },
        { id: 'call12346', name: 'lookup_customer', args: {} },
      ],
      usage: { ...usage, reasoning: 5 },
    }
    const exchanges = await exchangesOf(await serve(...sent.map(() => answer)), sent)
    expect(exchanges).toHaveLength(sent.length)
    for (const [index, { path }] of sent.entries()) {
      const exchange = exchanges[index]!
      expect(exchange.error, path).toBeUndefined()
      expect(exchange.answer.map(messageText).join(''), path).toBe(answer.text)
      expect(exchange.answer[0]!.parts, path).toContainEqual({
        type: 'reasoning',
        text: answer.reasoning,
      })
      expect(exchange.toolCalls, path).toMatchObject(answer.toolCalls)
      expect(exchange.usage?.mismatch, path).toBeUndefined()
      const tokens = { ...usage, ...(path.includes('ollama') && { input: 100, cachedInput: 0 }) }
      expect(exchange.usage, path).toMatchObject(tokens)
    }
  })

  test('text and tokens of models that give only text', async () => {
    const sent = textRequests(stream)
    const answer = { text: 'It is on its way.', usage: { input: 40, output: 12 } }
    const exchanges = await exchangesOf(await serve(...sent.map(() => answer)), sent)
    expect(exchanges).toHaveLength(sent.length)
    for (const [index, { path }] of sent.entries()) {
      const exchange = exchanges[index]!
      expect(exchange.answer.map(messageText).join(''), path).toBe(answer.text)
      expect(exchange.usage, path).toMatchObject(answer.usage)
    }
  })

  test('why the model stopped, in the provider’s own word', async () => {
    const sent = requests(stream)
    const exchanges = await exchangesOf(
      await serve(...sent.map(() => ({ text: 'It is', finish: 'length' as const }))),
      sent,
    )
    expect(new Set(exchanges.map(({ finishReason }) => finishReason))).toEqual(
      new Set(['length', 'max_output_tokens', 'max_tokens', 'MAX_TOKENS']),
    )
  })

  test('errors', async () => {
    const sent = requests(stream)
    const error = { status: 429, message: 'Slow down.' }
    const exchanges = await exchangesOf(await serve(...sent.map(() => ({ error }))), sent)
    for (const [index, { path }] of sent.entries())
      expect(exchanges[index]!.error, path).toContain('Slow down.')
  })
})

describe('besides models', () => {
  test('embeddings are computed for every SDK and use no answer of the script', async () => {
    const served = await serve({ text: 'never asked for' })
    const { env } = served
    const near = (left: readonly number[], right: readonly number[]) =>
      left.reduce((sum, value, index) => sum + value * right[index]!, 0)
    const texts = ['where is my order', 'your order is on its way', 'opening hours of the shop']
    const google = new GoogleGenAI({
      apiKey: 'made-up',
      httpOptions: { baseUrl: env['GOOGLE_GEMINI_BASE_URL']! },
    })
    const bedrock = new BedrockRuntimeClient({
      endpoint: env['AWS_ENDPOINT_URL_BEDROCK_RUNTIME']!,
      region: 'us-east-1',
      credentials: { accessKeyId: 'made-up', secretAccessKey: 'made-up' },
    })
    const titan = (inputText: string) =>
      bedrock.send(
        new InvokeModelCommand({
          modelId: 'amazon.titan-embed-text-v2:0',
          body: JSON.stringify({ inputText }),
        }),
      )
    const all: Record<string, readonly (readonly number[])[]> = {
      openai: (
        await new OpenAI({ baseURL: env['OPENAI_BASE_URL'], apiKey: 'made-up' }).embeddings.create({
          model: 'text-embedding-3-small',
          input: texts,
        })
      ).data.map(({ embedding }) => embedding),
      mistral: (
        await new Mistral({
          serverURL: env['MISTRAL_BASE_URL']!,
          apiKey: 'made-up',
        }).embeddings.create({ model: 'mistral-embed', inputs: texts })
      ).data.map(({ embedding }) => embedding ?? []),
      gemini:
        (
          await google.models.embedContent({ model: 'gemini-embedding-001', contents: texts })
        ).embeddings?.map(({ values }) => values ?? []) ?? [],
      ollama: (
        await new Ollama({ host: env['OLLAMA_HOST']! }).embed({
          model: 'nomic-embed-text',
          input: texts,
        })
      ).embeddings,
      titan: await Promise.all(
        texts.map(async (text) => {
          const { body } = await titan(text)
          const answer = JSON.parse(Buffer.from(body).toString()) as { embedding: number[] }
          return answer.embedding
        }),
      ),
    }
    for (const [name, [one, other, third]] of Object.entries(all)) {
      expect(one?.length, name).toBe(64)
      expect(near(one!, other!), name).toBeGreaterThan(near(one!, third!))
    }
    expect(served.unused).toHaveLength(1)
    expect(new Set(served.requests.map(({ format }) => format))).toEqual(
      new Set(['openai-embeddings', 'gemini-embeddings', 'ollama-embeddings', 'bedrock-invoke']),
    )
  })

  test('models are listed and tokens are counted', async () => {
    const { env } = await serve()
    const openai = new OpenAI({ baseURL: env['OPENAI_BASE_URL'], apiKey: 'made-up' })
    const anthropic = new Anthropic({ baseURL: env['ANTHROPIC_BASE_URL'], apiKey: 'made-up' })
    const google = new GoogleGenAI({
      apiKey: 'made-up',
      httpOptions: { baseUrl: env['GOOGLE_GEMINI_BASE_URL']! },
    })
    const ollama = new Ollama({ host: env['OLLAMA_HOST']! })
    expect((await openai.models.list()).data.map(({ id }) => id)).toContain('gpt-4o-mini')
    const claudes = await anthropic.models.list()
    expect(claudes.data[0]?.id).toMatch(/^claude/)
    expect((await google.models.list()).page[0]?.name).toMatch(/^models\/gemini/)
    expect((await ollama.list()).models[0]?.name).toMatch(/^llama/)
    const messages = [{ role: 'user' as const, content: 'How long is this?' }]
    const counted = await anthropic.messages.countTokens({ model: 'claude-opus-4-6', messages })
    expect(counted.input_tokens).toBeGreaterThan(4)
    const { totalTokens } = await google.models.countTokens({
      model: 'gemini-2.5-flash',
      contents: 'How long is this?',
    })
    expect(totalTokens).toBeGreaterThan(4)
  })
})

test('the first example of docs/testing.md runs', async () => {
  const page = await readFile(new URL('../../docs/testing.md', import.meta.url), 'utf8')
  const section = page.slice(page.indexOf('## A scripted model server'))
  const [, code = ''] = /```js\n([^]*?)```/.exec(section) ?? []
  const root = fileURLToPath(new URL('../..', import.meta.url))
  const { stdout, stderr } = await run(
    process.execPath,
    ['--input-type=module', '--eval', code],
    root,
  )
  expect(stdout, stderr).toBe("lookup_order\n[ { role: 'user', text: 'Where is order 1182?' } ]\n")
})
