import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { openTape } from '@retake/tape/node'
import { expect, onTestFinished, test } from 'vitest'
import { ProcessForks, StoredForks } from '../../packages/lab/dist/blame/forks.js'
import { prepareSearch } from '../../packages/lab/dist/blame/read-search.js'
import { makeOracle } from '../../packages/runner/dist/oracle/make-oracle.js'
import { folderWith, tapesOf } from './workspace.js'

/** A refund desk whose tool is a plain function. Calls and results of both APIs have no ids. */
const desk = `
const [, , api] = process.argv
const getOrder = ({ id }) => ({ id, days: 10 })
const apis = {
  gemini: {
    path: '/v1beta/models/gemini-2.5-flash:generateContent',
    body: (turns) => ({ contents: turns }),
    user: (text) => ({ role: 'user', parts: [{ text }] }),
    turn: ({ candidates: [{ content }] }) => content,
    call: ({ parts: [{ functionCall }] }) => functionCall,
    text: ({ parts: [{ text }] }) => text,
    result: (name, response) => ({ role: 'user', parts: [{ functionResponse: { name, response } }] }),
  },
  ollama: {
    path: '/api/chat',
    body: (turns) => ({ model: 'm', stream: false, messages: turns }),
    user: (content) => ({ role: 'user', content }),
    turn: ({ message }) => message,
    call: ({ tool_calls: [call] = [] }) => call && { ...call.function, args: call.function.arguments },
    text: ({ content }) => content,
    result: (tool_name, value) => ({ role: 'tool', tool_name, content: JSON.stringify(value) }),
  },
}
const { path, body, user, turn, call, text, result } = apis[api]
const turns = [user('May order 7 be refunded?')]
for (;;) {
  const response = await fetch(process.env.MODEL + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body(turns)),
  })
  const said = turn(await response.json())
  turns.push(said)
  const called = call(said)
  if (called === undefined) {
    console.log(text(said))
    process.exitCode = text(said) === 'DENIED' ? 0 : 3
    break
  }
  turns.push(result(called.name, getOrder(called.args)))
}
`

/** Asks for the order, then decides by how old it is. */
function answerTo(url: string, body: string): unknown {
  const isAsked = body.includes('days')
  const decision = /days\\?":60/.test(body) ? 'DENIED' : 'APPROVED'
  if (url.startsWith('/api/'))
    return {
      model: 'm',
      done: true,
      message: isAsked
        ? { role: 'assistant', content: decision }
        : {
            role: 'assistant',
            content: '',
            tool_calls: [{ function: { name: 'get_order', arguments: { id: 7 } } }],
          },
    }
  const part = isAsked
    ? { text: decision }
    : { functionCall: { name: 'get_order', args: { id: 7 } } }
  return { candidates: [{ content: { role: 'model', parts: [part] }, finishReason: 'STOP' }] }
}

test.each(['gemini', 'ollama'])('the result of a plain function is searched: %s', async (api) => {
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', (chunk: Buffer) => (body += chunk.toString()))
    request.on('end', () => {
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify(answerTo(request.url ?? '', body)))
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const workspace = await folderWith({ 'desk.mjs': desk })
  const env = { MODEL: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
  const recorded = await workspace.retake(['record', 'desk.mjs', api], { env })
  expect(recorded.stdout).toBe('APPROVED\n')

  const [file = ''] = await tapesOf(workspace)
  const tape = openTape(file)
  const { signal } = new AbortController()
  const settings = { oracle: await makeOracle('exit:0'), free: ['get_order=set:days=60'] }
  const search = await prepareSearch(tape, settings, signal)
  expect(search.steps.map(({ label }) => label)).toEqual(['1', '1.1', '2'])
  const stored = new StoredForks(tape.path, tape.run.id, 'plain')
  const forks = await ProcessForks.open({ ...search, ...search.interventions, stored })
  onTestFinished(() => forks.close())
  const fork = (...pinned: number[]) => forks.fork({ pinned, mode: 'free', ambient: [] }, 0)
  expect(await fork(0)).toMatchObject({ outcome: 'pass' })
  expect(await fork(0, 1)).toMatchObject({ outcome: 'fail', values: forks.recorded })
})
