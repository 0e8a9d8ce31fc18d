/** Tools around packages that this repository depends on. */
import Anthropic from '@anthropic-ai/sdk'
import { tool as langchainTool } from '@langchain/core/tools'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { createOpenAI } from '@ai-sdk/openai'
import { generateText } from 'ai'
import axios from 'axios'
import { execa } from 'execa'
import got from 'got'
import { Hono } from 'hono'
import { readFileSync } from 'node:fs'
import fetch from 'node-fetch'
import OpenAI from 'openai'
import { parseSync } from 'oxc-parser'
import pLimit from 'p-limit'
import { type } from 'arktype'
import { Pool, request } from 'undici'
import * as v from 'valibot'
import { WebSocket } from 'ws'
import YAML from 'yaml'
import { z } from 'zod'

export const servers = ['http']

const limit = pLimit(2)

export const axiosGet = async ({ url }) => (await axios.get(url)).data
export const axiosPost = async ({ url, amount }) => (await axios.post(url, { amount })).data.body
export const gotJson = ({ url }) => got(url, { timeout: { request: 5000 } }).json()
export const nodeFetch = async ({ endpoint }) => (await fetch(endpoint)).text()
export const undiciRequest = async ({ url }) => (await request(url)).body.json()

export async function undiciPool({ origin }) {
  const pool = new Pool(origin, { connections: 2 })
  const replies = await Promise.all(
    [1, 2, 3].map(() => pool.request({ path: '/json', method: 'GET' })),
  )
  const bodies = await Promise.all(replies.map(({ body }) => body.json()))
  await pool.close()
  return bodies.length
}

export const webSocket = ({ url, text }) =>
  new Promise((resolve, reject) => {
    const socket = new WebSocket(url)
    socket.on('open', () => socket.send(text))
    socket.on('error', reject)
    socket.on('message', (/** @type {Buffer} */ message) => {
      socket.close()
      resolve(message.toString())
    })
  })

export async function openai({ server, prompt }) {
  const client = new OpenAI({ baseURL: `${server}/v1`, apiKey: 'none' })
  const messages = [{ role: 'user', content: prompt }]
  const { choices } = await client.chat.completions.create({ model: 'm', messages })
  return choices[0].message.content
}

export async function anthropic({ server, prompt }) {
  const client = new Anthropic({ baseURL: server, apiKey: 'none' })
  const messages = [{ role: 'user', content: prompt }]
  const { content } = await client.messages.create({ model: 'm', max_tokens: 9, messages })
  return content[0].text
}

export async function aiSdk({ server, prompt }) {
  const provider = createOpenAI({ baseURL: `${server}/v1`, apiKey: 'none' })
  const { text } = await generateText({ model: provider.chat('m'), prompt })
  return text
}

const addition = langchainTool(({ a, b }) => a + b, {
  name: 'add',
  schema: z.object({ a: z.number(), b: z.number() }),
})
export const langchain = (args) => addition.invoke(args)

export async function mcp({ city }) {
  const server = new McpServer({ name: 'weather', version: '1.0.0' })
  server.registerTool('weather', { inputSchema: { city: z.string() } }, ({ city }) => ({
    content: [{ type: 'text', text: `sun in ${city}` }],
  }))
  const [near, far] = InMemoryTransport.createLinkedPair()
  const client = new Client({ name: 'agent', version: '1.0.0' })
  await Promise.all([server.connect(far), client.connect(near)])
  const { content } = await client.callTool({ name: 'weather', arguments: { city } })
  await client.close()
  return content[0].text
}

export const limitedReads = async ({ files }) => {
  const texts = await Promise.all(files.map((file) => limit(() => readFileSync(file, 'utf8'))))
  return texts.map(({ length }) => length)
}

export async function execaCount({ file }) {
  const { stdout } = await execa('wc', ['-l', file], { cwd: 'work' })
  return stdout
}

export async function execaLocal() {
  const { stdout } = await execa({ preferLocal: true, cwd: 'work' })`uname -s`
  return stdout
}

export const readYaml = ({ file }) => YAML.parse(readFileSync(file, 'utf8'))
export const parseCode = ({ code }) => parseSync('x.ts', code).program.body.length

export const validateOrder = ({ address, host, amount }) => {
  const order = z.object({
    address: z.string().min(3),
    host: z.string(),
    amount: z.coerce.number(),
  })
  v.parse(v.object({ amount: v.string() }), { amount })
  const { amount: sum } = order.parse({ address, host, amount })
  return type({ sum: 'number' })({ sum })
}

export async function honoRoute({ path }) {
  const app = new Hono().get('/items/:id', (context) =>
    context.json({ id: context.req.param('id') }),
  )
  return (await app.request(path)).json()
}

const json = { id: 7, tags: ['a', 'b'] }

/** @param {Record<string, string>} values */
export const rows = ({ origin, address }) => {
  const network = { effects: ['network'], addresses: [address] }
  return [
    { tool: axiosGet, args: { url: `${origin}/moved` }, ...network, expected: json },
    {
      tool: axiosPost,
      args: { url: `${origin}/echo`, amount: 5 },
      ...network,
      changes: true,
      expected: '{"amount":5}',
    },
    { tool: gotJson, args: { url: `${origin}/moved` }, ...network, expected: json },
    {
      tool: nodeFetch,
      args: { endpoint: `${origin}/lines` },
      ...network,
      expected: 'one\ntwo\nthree\n',
    },
    { tool: undiciRequest, args: { url: `${origin}/json` }, ...network, expected: json },
    { tool: undiciPool, args: { origin }, ...network, expected: 3 },
    {
      tool: webSocket,
      args: { url: `ws://${address}/ws`, text: 'hi' },
      ...network,
      changes: true,
      expected: 'echo hi',
    },
    {
      tool: openai,
      args: { server: origin, prompt: 'hi' },
      ...network,
      changes: true,
      expected: 'hello',
    },
    {
      tool: anthropic,
      args: { server: origin, prompt: 'hi' },
      ...network,
      changes: true,
      expected: 'hello',
    },
    {
      tool: aiSdk,
      args: { server: origin, prompt: 'hi' },
      ...network,
      changes: true,
      expected: 'hello',
    },
    { tool: langchain, args: { a: 1, b: 2 }, expected: 3 },
    { tool: mcp, args: { city: 'Rome' }, expected: 'sun in Rome' },
    {
      tool: limitedReads,
      args: { files: ['work/sales.csv', 'work/config.yaml', 'work/notes/todo.txt'] },
      effects: ['read'],
      expected: [26, 30, 27],
    },
    {
      tool: execaCount,
      args: { file: 'sales.csv' },
      effects: ['read', 'shell'],
      programs: [['wc', '-l', '*']],
      expected: '3 sales.csv',
    },
    {
      tool: execaLocal,
      effects: ['shell'],
      programs: [['uname', '-s']],
      // It changes PATH.
      withoutSandbox: 'SHELL_ENVIRONMENT',
      expected: /^(?:Linux|Darwin)$/,
    },
    {
      tool: readYaml,
      args: { file: 'work/config.yaml' },
      effects: ['read'],
      expected: { name: 'shop', items: ['a', 'b'] },
    },
    { tool: parseCode, args: { code: 'let a: number = 1; a++' }, expected: 2 },
    {
      tool: validateOrder,
      args: { address: '10 Main Street', host: 'Ann', amount: '12' },
      expected: { sum: 12 },
    },
    { tool: honoRoute, args: { path: '/items/7' }, expected: { id: '7' } },
  ]
}
