import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import http2 from 'node:http2'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { uninstall } from '@retake/engine'
import { expect, onTestFinished, test } from 'vitest'
import { guard } from '../../guard.js'
import { presets } from '../../policy/presets.js'

test('requests on a session that was opened before the first guard are judged by its origin', async () => {
  const dir = mkdtempSync(path.join(tmpdir(), 'retake-http2-'))
  const server = http2.createServer((_request, response) => response.end('hello'))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const session = http2.connect(`http://127.0.0.1:${port}`)
  await once(session, 'connect')
  onTestFinished(() => {
    session.destroy()
    server.close()
    uninstall()
    rmSync(dir, { recursive: true, force: true })
  })
  const fetchAll = async (policy: ReturnType<typeof presets.network>) => {
    const run = guard({ name: 'http2', dir, policy })
    run.tool('get', async () => {
      const stream = session.request({ ':path': '/' })
      stream.setEncoding('utf8')
      let text = ''
      for await (const chunk of stream) text += String(chunk)
      return text
    })
    const { output, error } = await run.call('get', {})
    run.end()
    return output ?? (error as { code?: string }).code
  }
  const addresses = [`127.0.0.1:${port}`]
  expect(await fetchAll(presets.network({ allow: ['127.0.0.1'], addresses }))).toBe('hello')
  expect(await fetchAll(presets.network({ allow: ['example.com'] }))).toBe('ADDRESS_PRIVATE')
})
