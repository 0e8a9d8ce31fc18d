import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { openTape } from '@retake/tape/node'
import { expect, onTestFinished, test } from 'vitest'
import { ProcessForks, StoredForks } from '../../packages/lab/dist/blame/forks.js'
import { prepareSearch } from '../../packages/lab/dist/blame/read-search.js'
import { makeOracle } from '../../packages/runner/dist/oracle/make-oracle.js'
import { folderWith, tapesOf } from './workspace.js'

/** Sends one request twice, and prints both answers. */
const agent = `
const ask = async () => {
  const response = await fetch(process.env.MODEL + '/v1/chat/completions', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'A number?' }] }),
  })
  return (await response.json()).choices[0].message.content
}
console.log(await ask(), await ask())
`

test('a later search gets the answers of models of an earlier one, and no two forks share one', async () => {
  let asked = 0
  const server = createServer((request, response) => {
    request.resume()
    const message = { role: 'assistant', content: `number ${++asked}` }
    response.setHeader('content-type', 'application/json')
    response.end(
      JSON.stringify({ object: 'chat.completion', model: 'm', choices: [{ index: 0, message }] }),
    )
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const workspace = await folderWith({ 'agent.mjs': agent })
  const env = { MODEL: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
  await workspace.retake(['record', 'agent.mjs'], { env })
  const [file = ''] = await tapesOf(workspace)
  const tape = openTape(file)
  const { signal } = new AbortController()
  const openSearch = async (question: string, seed = 1) => {
    const oracle = await makeOracle(`not:${question}`)
    const search = await prepareSearch(tape, { oracle, seed }, signal)
    const stored = new StoredForks(tape.path, tape.run.id, question)
    const forks = await ProcessForks.open({ ...search, ...search.interventions, stored })
    onTestFinished(() => forks.close())
    const fork = (draw: number, ...pinned: number[]) =>
      forks.fork({ pinned, mode: 'free', ambient: [] }, draw)
    return { forks, fork }
  }

  asked = 0
  const first = await openSearch('stdout:one')
  const [a, b, c] = [await first.fork(0), await first.fork(1), await first.fork(0, 0)]
  // One request for each free step: another draw and another coalition are other samples.
  expect(asked).toBe(5)
  expect(first.forks.sampled).toBe(0)
  expect(new Set([...a.values, ...b.values, c.values[1]]).size).toBe(5)

  const later = await openSearch('stdout:two')
  expect((await later.fork(0)).values).toEqual(a.values)
  expect((await later.fork(0, 0)).values).toEqual(c.values)
  expect(asked).toBe(5)
  expect(later.forks).toMatchObject({ sampled: 3, liveSteps: 0, tokens: 0 })
  await later.fork(2)
  expect(asked).toBe(7)

  const other = await openSearch('stdout:two', 2)
  await other.fork(3)
  expect(asked).toBe(9)
})
