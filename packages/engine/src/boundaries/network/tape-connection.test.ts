import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import net, { type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { record } from '../../library/record.js'

test('what a client writes together leaves together, with its choice of delay', async () => {
  const dir = mkdtempSync(path.join(tmpdir(), 'retake-connection-'))
  const server = net.createServer((socket) => socket.resume())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => {
    server.close()
    rmSync(dir, { recursive: true, force: true })
  })
  const { port } = server.address() as AddressInfo
  const setNoDelay = vi.spyOn(net.Socket.prototype, 'setNoDelay')
  const writeTogether = vi.spyOn(net.Socket.prototype, '_writev')

  await record({ name: 'client', dir }, async () => {
    const socket = net.connect(port, '127.0.0.1')
    await once(socket, 'connect')
    socket.cork()
    // Not the start of an HTTP request, which would be sent when it is complete.
    socket.write('\u0001head ')
    socket.write('body')
    socket.uncork()
    socket.setNoDelay()
    socket.end()
    await once(socket.resume(), 'close')
  })
  expect(writeTogether.mock.calls.map(([chunks]) => chunks.length)).toEqual([2])
  expect(setNoDelay.mock.calls).toEqual([[true]])
})
