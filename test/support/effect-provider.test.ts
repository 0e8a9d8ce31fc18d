import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { startScriptedModel } from '../../packages/runner/dist/agent/scripted-model.js'
import { startEffectProvider } from './effect-provider.mjs'

/** Sends a part of a request and is gone, like a process that is killed. */
async function askHalf(url: string): Promise<void> {
  const { port } = new URL(url)
  const socket = connect(Number(port), '127.0.0.1')
  socket.write(
    'POST /effect HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9\r\nexpect: 100-continue\r\n\r\n',
  )
  // The server has seen the head, and says so: now there is a request to break off.
  await once(socket, 'data')
  await new Promise((sent) => socket.write('half', sent))
  socket.resetAndDestroy()
  await once(socket, 'close')
}

// Vitest fails a file in which a rejection is handled by nobody.
test('an agent killed in the middle of a request has requested nothing, and the provider keeps working', async () => {
  const provider = await startEffectProvider()
  onTestFinished(() => provider.close())
  await askHalf(provider.url)
  expect(provider.counts.size).toBe(0)
  const answer = await fetch(`${provider.url}/effect`, { method: 'POST', body: 'whole' })
  expect(answer.status).toBe(200)
  expect([...provider.counts.keys()]).toEqual(['/effect whole'])
})

test('the demo model keeps working when an agent is killed in the middle of a request', async () => {
  const model = await startScriptedModel()
  onTestFinished(() => model.stop())
  await askHalf(model.url)
  const body = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'hello' }] })
  const answer = await fetch(`${model.url}/v1/chat/completions`, { method: 'POST', body })
  expect(await answer.json()).toMatchObject({ object: 'chat.completion' })
})
