import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createServer } from 'node:tls'
import { expect, test } from 'vitest'
import { CertificateAuthority } from './certificate-authority.js'
import { UpstreamConnections } from './upstream-connections.js'

test("a provider with a company's own certificate is reached if the user's clients trust it", async () => {
  const authority = new CertificateAuthority()
  const folder = mkdtempSync(path.join(tmpdir(), 'retake-upstream-'))
  const file = path.join(folder, 'authority.pem')
  writeFileSync(file, authority.certificate)
  const server = createServer(
    { SNICallback: (name, done) => done(null, authority.contextFor(name)) },
    (socket) => {
      socket.on('error', () => {})
      socket.once('data', () => socket.end('HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n'))
    },
  ).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const status = async (env: NodeJS.ProcessEnv): Promise<number | undefined> => {
    const upstream = new UpstreamConnections(env)
    try {
      const request = upstream.request(new URL(`https://localhost:${port}/`), {})
      request.end()
      const [response] = (await once(request, 'response')) as [IncomingMessage]
      response.resume()
      return response.statusCode
    } finally {
      upstream.close()
    }
  }
  try {
    expect(await status({ REQUESTS_CA_BUNDLE: file })).toBe(204)
    expect(await status({ SSL_CERT_FILE: file, CURL_CA_BUNDLE: `${file}.missing` })).toBe(204)
    await expect(status({})).rejects.toThrow(/certificate/)
  } finally {
    server.close()
    rmSync(folder, { recursive: true })
  }
})
