/** A run is killed as soon as a server sees the head of a request whose body is still missing. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { environmentOnTape } from '@retake/tape/format'
import { openTape } from '@retake/tape/node'
import { cli, folderWith, tapesOf } from '../cli/workspace.js'

// The variable is read last: such a read may stay in memory until the next event.
const AGENT = `
import { connect } from 'node:net'
const socket = connect(Number(process.argv[2]), '127.0.0.1', () => {
  const id = Math.random()
  socket.write(
    'POST /' + id + '/' + process.env.TENANT + ' HTTP/1.1\\r\\nhost: x\\r\\ncontent-length: 9\\r\\n\\r\\n',
  )
})
`

test('the head of an unfinished request leaves after everything it could depend on is on the tape', async () => {
  const workspace = await folderWith({ 'agent.mjs': AGENT })
  let head = ''
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.once('data', (bytes) => {
      process.kill(-Number(running.pid), 'SIGKILL')
      head = bytes.toString()
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  const running = spawn(process.execPath, [cli, 'record', 'agent.mjs', String(port)], {
    cwd: workspace.folder,
    env: { ...process.env, TENANT: 'blue' },
    stdio: 'ignore',
    detached: true,
  })
  await once(running, 'close')

  const [file = ''] = await tapesOf(workspace)
  const tape = openTape(file)
  const draws = [...tape.events()].filter((event) => event.type === 'draw')
  const id = draws.find(({ kind }) => kind === 'Math.random')?.value
  expect(head).toContain(`POST /${String(id)}/blue `)

  expect(environmentOnTape(tape).get('TENANT')?.value).toBe('blue')
})
