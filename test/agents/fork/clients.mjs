// One way to ask a model per client and wire format. Each takes what was said so
// far and gives back the text of the answer.
import http from 'node:http'
import http2 from 'node:http2'

const base = process.env.AGENT_BASE_URL
const gently = { apiKey: process.env.OPENAI_API_KEY ?? 'none', maxRetries: 0 }

// Loaded when needed: an agent that asks with one client need not wait for all.
async function openAi() {
  const { OpenAI } = await import('openai')
  return new OpenAI({ ...gently, baseURL: `${base}/v1` })
}

async function claude() {
  const { Anthropic } = await import('@anthropic-ai/sdk')
  return new Anthropic({ ...gently, baseURL: base })
}

const gpt = 'gpt-4o-mini'
const sonnet = 'claude-sonnet-4-5'

export const clients = {
  'openai-chat': async () => {
    const client = await openAi()
    return async (messages) => {
      const completion = await client.chat.completions.create({ model: gpt, messages })
      return completion.choices[0].message.content
    }
  },

  'openai-chat-stream': async () => {
    const client = await openAi()
    return async (messages) => {
      const stream = await client.chat.completions.create({
        model: gpt,
        messages,
        stream: true,
        stream_options: { include_usage: true },
      })
      let text = ''
      for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? ''
      return text
    }
  },

  'openai-responses-stream': async () => {
    const client = await openAi()
    return async (messages) => {
      const stream = client.responses.stream({ model: gpt, input: messages })
      return (await stream.finalResponse()).output_text
    }
  },

  anthropic: async () => {
    const client = await claude()
    return async (messages) => {
      const message = await client.messages.create({ model: sonnet, max_tokens: 500, messages })
      return message.content[0].text
    }
  },

  'anthropic-stream': async () => {
    const client = await claude()
    return async (messages) => {
      const stream = client.messages.stream({ model: sonnet, max_tokens: 500, messages })
      return (await stream.finalMessage()).content[0].text
    }
  },

  axios: async () => {
    const { default: axios } = await import('axios')
    const httpAgent = new http.Agent({ keepAlive: true, maxSockets: 1 })
    const client = axios.create({ baseURL: base, httpAgent })
    return async (messages) => {
      const { data } = await client.post('/v1/chat/completions', { model: gpt, messages })
      return data.choices[0].message.content
    }
  },

  http: () => {
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
    return async (messages) => {
      const { status, text } = await postHttp(agent, '/v1/chat/completions', {
        model: gpt,
        messages,
      })
      if (status !== 200) throw new Error(`status ${status}`)
      return JSON.parse(text).choices[0].message.content
    }
  },

  http2: () => {
    const session = http2.connect(process.env.AGENT_H2_URL)
    const ask = async (messages) => {
      const body = JSON.stringify({ model: gpt, messages })
      const { status, text } = await postHttp2(session, '/v1/chat/completions', body)
      if (status !== 200) throw new Error(`status ${status}`)
      return JSON.parse(text).choices[0].message.content
    }
    ask.close = () => session.close()
    return ask
  },
}

export function postHttp(agent, path, json) {
  const { promise, resolve, reject } = withResolvers()
  const headers = { 'content-type': 'application/json' }
  const request = http.request(base + path, { agent, method: 'POST', headers }, (response) => {
    let text = ''
    response.setEncoding('utf8')
    response.on('data', (chunk) => (text += chunk))
    response.on('end', () => resolve({ status: response.statusCode, text }))
    response.on('error', reject)
  })
  request.on('error', reject)
  request.end(JSON.stringify(json))
  return promise
}

export function postHttp2(session, path, body) {
  const { promise, resolve, reject } = withResolvers()
  const stream = session.request({ ':path': path, ':method': 'POST' })
  let status
  let text = ''
  stream.on('response', (headers) => (status = headers[':status']))
  stream.setEncoding('utf8')
  stream.on('data', (chunk) => (text += chunk))
  stream.on('end', () => resolve({ status, text }))
  stream.on('error', reject)
  stream.end(body)
  return promise
}

function withResolvers() {
  let resolve
  let reject
  const promise = new Promise((yes, no) => {
    resolve = yes
    reject = no
  })
  return { promise, resolve, reject }
}
