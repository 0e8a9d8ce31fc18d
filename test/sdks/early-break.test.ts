import { createServer, type Server } from 'node:http'
import { createServer as createHttp2Server, type Http2Server } from 'node:http2'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startModelServer, type ModelServer } from '@retake/engine/testing'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { makeWorkspace, run, type Workspace } from '../support/run-retake.mjs'
import { sampled } from '../support/soak.js'

/** Agents that leave a stream before its end. Each must end by itself, as under plain Node. */
const agents: Readonly<Record<string, string>> = {
  'bedrock-http2': `
import { BedrockRuntimeClient, ConverseStreamCommand } from '@aws-sdk/client-bedrock-runtime'
const client = new BedrockRuntimeClient({ region: 'us-east-1', endpoint: process.env.AGENT_MODEL_URL })
const { stream } = await client.send(new ConverseStreamCommand({
  modelId: 'amazon.nova-lite-v1:0', messages: [{ role: 'user', content: [{ text: 'hi' }] }],
}))
for await (const { contentBlockDelta } of stream) if (contentBlockDelta) break
client.destroy()
console.log('left')
`,
  'openai-stream': `
import OpenAI from 'openai'
const client = new OpenAI({ apiKey: 'none', baseURL: process.env.AGENT_MODEL_URL + '/v1' })
const stream = await client.chat.completions.create({
  model: 'gpt-4o-mini', stream: true, messages: [{ role: 'user', content: 'hi' }],
})
for await (const chunk of stream) break
console.log('left')
`,
  'fetch-body': `
const { body } = await fetch(process.env.AGENT_BASE_URL)
for await (const chunk of body) break
console.log('left')
`,
  'http-response': `
import http from 'node:http'
const response = await new Promise((resolve) => http.get(process.env.AGENT_BASE_URL, resolve))
for await (const chunk of response) break
console.log('left')
`,
  'http2-destroyed-session': `
import http2 from 'node:http2'
const session = http2.connect(process.env.AGENT_H2_URL)
const stream = session.request({ ':path': '/' })
stream.on('error', () => {})
for await (const chunk of stream) break
session.destroy()
console.log('left')
`,
  'http2-unread-stream': `
import http2 from 'node:http2'
import { once } from 'node:events'
const session = http2.connect(process.env.AGENT_H2_URL)
const stream = session.request({ ':path': '/' })
stream.on('error', () => {})
await once(stream, 'response')
session.destroy()
console.log('left')
`,
  'http2-closed-session': `
import http2 from 'node:http2'
const session = http2.connect(process.env.AGENT_H2_URL)
const stream = session.request({ ':path': '/' })
for await (const chunk of stream) break
session.close()
console.log('left')
`,
}

let workspace: Workspace
let model: ModelServer
let endless: Server
let endlessHttp2: Http2Server

const urlOf = (server: Server | Http2Server): string =>
  `http://127.0.0.1:${(server.address() as AddressInfo).port}`

/** Sends a first part and never ends. */
const answer = (_request: unknown, response: { write(text: string): unknown }): void =>
  void response.write('first part\n'.repeat(100))

beforeAll(async () => {
  workspace = await makeWorkspace()
  const modules = fileURLToPath(new URL('../../node_modules', import.meta.url))
  await symlink(modules, join(workspace.folder, 'node_modules'))
  for (const [name, text] of Object.entries(agents))
    await writeFile(join(workspace.folder, `${name}.mjs`), text)
  model = await startModelServer({ answer: () => ({ text: 'word '.repeat(200), chunks: 20 }) })
  endless = createServer(answer).listen(0, '127.0.0.1')
  endlessHttp2 = createHttp2Server(answer).listen(0, '127.0.0.1')
  await Promise.all([once(endless, 'listening'), once(endlessHttp2, 'listening')])
})

afterAll(async () => {
  await model.stop()
  endless.closeAllConnections()
  endless.close()
  endlessHttp2.close()
  await workspace.remove()
})

test.each(sampled(Object.keys(agents), (_, index) => index % 3 === 0))(
  'an agent that leaves a stream early exits on its own, recorded and replayed: %s',
  async (name) => {
    const options = {
      env: {
        ...model.env,
        AGENT_MODEL_URL: model.url,
        AGENT_BASE_URL: urlOf(endless),
        AGENT_H2_URL: urlOf(endlessHttp2),
      },
    }
    const plain = await run(process.execPath, [`${name}.mjs`], workspace.folder, options)
    expect(plain).toMatchObject({ stdout: 'left\n', code: 0 })
    const recorded = await workspace.retake(['record', `${name}.mjs`], options)
    expect(recorded).toMatchObject({ stdout: 'left\n', code: 0, signal: null })
    const replayed = await workspace.retake(['replay', 'last'])
    expect(replayed).toMatchObject({ stdout: 'left\n', code: 0, signal: null })
  },
)
