import { once } from 'node:events'
import { appendFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { buffer, json } from 'node:stream/consumers'
import { TapeWriter } from '@retake/tape/node'
import { expect, onTestFinished, test } from 'vitest'
import { TeamClient } from './team-client.js'
import { pushRun } from './transfer-runs.js'

test('the torn end of a killed tape is not sent', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'retake-test-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = path.join(folder, 'killed.tape')
  const run = { id: 'killed', name: 'killed', startedAt: 0, node: 'v20.0.0' }
  const writer = TapeWriter.create(file, { type: 'run', scope: 'process', ...run }, {})
  writer.append({ type: 'output', stream: 'stdout' }, Buffer.from('whole'))
  writer.close()
  const whole = readFileSync(file)
  appendFileSync(file, `{"type":"output","torn":"sk-${'aB3dE6gH9jK2mN5pQ8sT1vW4'.repeat(2)}`)

  const sent: Buffer[] = []
  const answer = async (request: IncomingMessage): Promise<object> => {
    if (request.method === 'PATCH') {
      sent.push(await buffer(request))
      return { received: Buffer.concat(sent).length }
    }
    const { files } = (await json(request)) as { files: { digest: string }[] }
    const missing = files.map(({ digest }) => ({ digest, received: 0 }))
    return { missing, outcome: 'created' }
  }
  const server = createServer((request, response) => {
    void answer(request).then((body) => response.end(JSON.stringify(body)))
  }).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const target = { server: url, org: 'acme', project: 'refunds', key: 'none' }
  const [pushed] = await pushRun(new TeamClient(url, 'none'), target, file, {
    allowsSecrets: false,
  })
  expect(pushed).toMatchObject({ run: 'killed', sentBytes: whole.length })
  expect(Buffer.concat(sent).equals(whole)).toBe(true)
})
