import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { FindingsFile } from '../../packages/lab/dist/blame/findings.js'
import { linkModules } from '../support/run-library.mjs'
import type { Workspace } from '../support/run-retake.mjs'
import { isSoak, sampled } from '../support/soak.js'
import { folderWith } from './workspace.js'

/** A search is many processes: on a busy machine it takes its time. */
const PATIENT = { timeoutMs: 500_000 }

/**
 * Asks a model how much to pay, then pays: through a wrapped tool, a plain POST, a POST over
 * `node:http`, and a process. The model never says the same twice, so forks make new calls.
 */
const clerk = `
import { execFileSync } from 'node:child_process'
import http from 'node:http'
import { tool } from 'retake'
const { SERVER } = process.env
const post = (path, body) => fetch(SERVER + path, { method: 'POST', body: JSON.stringify(body) })
const ask = async (content) => {
  const response = await post('/v1/chat/completions', { model: 'm', messages: [{ role: 'user', content }] })
  return (await response.json()).choices[0].message.content
}
const pay = tool('pay', async (amount) => (await post('/pay?by=tool', { amount })).json())
const overHttp = (amount) => new Promise((resolve, reject) => {
  const request = http.request(SERVER + '/pay?by=http', { method: 'POST' }, (response) => {
    response.resume().on('end', resolve)
  })
  request.on('error', reject).end(String(amount))
})
const ways = {
  tool: (amount) => pay(amount),
  fetch: (amount) => post('/pay?by=fetch', { amount }).then((response) => response.json()),
  http: overHttp,
  process: async (amount) => execFileSync('sh', ['-c', 'echo ' + amount + ' >> paid.log']),
}
const amount = process.argv[3] ?? (await ask('how much?'))
await ways[process.argv[2]](amount)
console.log(await ask('done: ' + amount))
`

/** A model whose answers are all different, and a bank that counts. */
async function startBank() {
  const bank = { paid: 0, url: '' }
  let asked = 0
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      response.setHeader('content-type', 'application/json')
      if (request.url?.startsWith('/pay') === true) {
        bank.paid += 1
        response.end('{"ok":true}')
        return
      }
      const message = { role: 'assistant', content: `wrong ${++asked}` }
      const choices = [{ index: 0, message, finish_reason: 'stop' }]
      response.end(JSON.stringify({ object: 'chat.completion', model: 'm', choices }))
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  bank.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return bank
}

const loggedIn = ({ folder }: Workspace): number => {
  const log = join(folder, 'paid.log')
  return existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n').length : 0
}

test('a search runs nothing with effects unless --live-tools is given', async () => {
  const bank = await startBank()
  const workspace = await folderWith({ 'clerk.mjs': clerk })
  await linkModules(workspace.folder)
  const env = { SERVER: bank.url }
  const searches = isSoak ? 25 : 1
  let forks = 0
  for (const way of sampled(['tool', 'fetch', 'http', 'process'], (way) => way === 'http')) {
    await workspace.retake(['record', 'clerk.mjs', way], { env })
    const [paid, logged] = [bank.paid, loggedIn(workspace)]
    const blame = ['blame', 'last', '--expect', 'right', '--json', '--max-forks', '6']
    for (let seed = 1; seed <= searches; seed++) {
      const { stdout } = await workspace.retake([...blame, '--seed', String(seed)], PATIENT)
      const { facts, findings } = JSON.parse(stdout) as FindingsFile
      expect([way, findings.causes]).toEqual([way, []])
      forks += facts.newForks
      // The agent wanted to pay another amount. It got the recorded answer, which only acknowledges.
      expect([way, facts.undefinedBy, facts.assumed?.['2']]).toEqual([
        way,
        {},
        expect.any(Number) as number,
      ])
    }
    // The forks are stored, so this search only prints.
    const again = blame.filter((arg) => arg !== '--json')
    const { stdout: page } = await workspace.retake([...again, '--seed', '1'], PATIENT)
    expect(page).toMatch(/step 2 \(.*It was not run, and got its recorded answer/s)
    expect(page).not.toContain('--live-tools')
    expect([way, bank.paid, loggedIn(workspace)]).toEqual([way, paid, logged])
    if (!isSoak) continue
    const { stderr } = await workspace.retake([...blame, '--live-tools'], PATIENT)
    expect(stderr).toMatch(/will really run about \d+ to \d+ times/)
    expect(bank.paid + loggedIn(workspace)).toBeGreaterThan(paid + logged)
  }
  expect(forks).toBeGreaterThanOrEqual(6 * searches)
})

test('a call that another run made is answered from its recording, and --live-tools names what may run', async () => {
  const bank = await startBank()
  const workspace = await folderWith({ 'clerk.mjs': clerk })
  await linkModules(workspace.folder)
  const env = { SERVER: bank.url }
  const blame = ['blame', 'last', '--expect', 'right', '--json', '--max-forks', '6']
  const paysSeven = [...blame, '--free', '1=json:"7"', '--free', '3=json:"still wrong"']
  const record = (...args: string[]) =>
    workspace.retake(['record', 'clerk.mjs', 'tool', ...args], { env })

  await record()
  const unknown = await workspace.retake(paysSeven, PATIENT)
  expect(unknown.stderr).toContain('not run, answered from recordings: pay')
  const { undefinedBy, assumed } = (JSON.parse(unknown.stdout) as FindingsFile).facts
  expect(undefinedBy).toEqual({})
  expect(assumed?.['2']).toBeGreaterThan(0)

  await record('7')
  await record()
  const known = await workspace.retake(paysSeven, PATIENT)
  expect((JSON.parse(known.stdout) as FindingsFile).facts.undefinedBy).toEqual({})
  expect(bank.paid).toBe(3)

  const refused = await workspace.retake([...blame, '--live-tools=pai'])
  expect([refused.code, refused.stdout]).toEqual([2, expect.stringContaining('does not call')])
  const named = await workspace.retake([...blame, '--live-tools=pay'], PATIENT)
  expect(named.stderr).toContain('pay will really run about')
  expect(bank.paid).toBeGreaterThan(3)
})
