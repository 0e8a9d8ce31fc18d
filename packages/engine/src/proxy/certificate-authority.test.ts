import { X509Certificate } from 'node:crypto'
import { connect, createServer } from 'node:tls'
import type { AddressInfo } from 'node:net'
import { once } from 'node:events'
import { expect, test } from 'vitest'
import { CertificateAuthority } from './certificate-authority.js'

test('issues certificates that a TLS client which trusts it accepts, for names and addresses', async () => {
  const authority = new CertificateAuthority()
  const root = new X509Certificate(authority.certificate)
  expect(root.ca).toBe(true)
  for (const host of ['api.example.com', '127.0.0.1', '::1', `${'long-'.repeat(20)}name.example`]) {
    const { certificate, key } = authority.issue(host)
    const leaf = new X509Certificate(certificate)
    expect(leaf.verify(root.publicKey) && leaf.checkIssued(root)).toBe(true)
    expect(leaf.ca).toBe(false)
    const server = createServer({ cert: certificate, key }, (socket) => socket.end('hello'))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    // Node checks addresses and names by `host`.
    const socket = connect({
      port,
      host: '127.0.0.1',
      servername: host.includes(':') || host === '127.0.0.1' ? '' : host,
      ca: authority.certificate,
      checkServerIdentity: (_, peer) => {
        const named = peer.subjectaltname?.replaceAll(/(DNS|IP Address):/g, '')
        expect(named === '0:0:0:0:0:0:0:1' ? '::1' : named).toBe(host)
        return undefined
      },
    })
    await once(socket, 'secureConnect')
    expect(socket.authorized, String(socket.authorizationError)).toBe(true)
    socket.destroy()
    server.close()
  }
})

test('an authority never gives out its private key', () => {
  const authority = new CertificateAuthority()
  expect(authority.certificate).not.toContain('PRIVATE')
  expect(authority.contextFor('a.example')).toBe(authority.contextFor('a.example'))
})
