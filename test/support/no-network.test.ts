import { createServer } from 'node:net'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { run } from './run-retake.mjs'

const preload = pathToFileURL(fileURLToPath(new URL('no-network.mjs', import.meta.url))).href

/** What the preload counts while this code runs. */
async function countWaysOut(code: string): Promise<Record<string, number>> {
  const folder = await mkdtemp(join(tmpdir(), 'retake-test-'))
  try {
    const report = join(folder, 'report.json')
    const { code: exitCode, stderr } = await run(
      process.execPath,
      [
        `--import=${preload}?report=${encodeURIComponent(report)}`,
        '--input-type=module',
        '--eval',
        code,
      ],
      folder,
    )
    expect(exitCode, stderr).toBe(0)
    return JSON.parse(await readFile(report, 'utf8')) as Record<string, number>
  } finally {
    await rm(folder, { recursive: true })
  }
}

test('a process without network access counts nothing', async () => {
  const counts = await countWaysOut(`
    import fs from 'node:fs'
    console.log(await fs.promises.readdir('.'))
    console.error('both streams are pipes, and pipes are not connections')
    await new Promise((resolve) => setTimeout(resolve, 5))
  `)
  expect(counts).toEqual({})
})

test('sockets, lookups, datagrams and programs are each counted, also through saved references', async () => {
  const server = createServer((socket) => socket.end()).listen(0, '127.0.0.1')
  const port = await new Promise<number>((resolve) =>
    server.on('listening', () => resolve((server.address() as { port: number }).port)),
  )
  const counts = await countWaysOut(`
    import { spawn, execFileSync } from 'node:child_process'
    import dgram from 'node:dgram'
    import dns from 'node:dns'
    import net from 'node:net'
    await new Promise((resolve) => net.connect(${port}, '127.0.0.1').on('close', resolve).resume())
    await dns.promises.lookup('localhost')
    dgram.createSocket('udp4').close()
    await new Promise((resolve) => spawn('true').on('close', resolve))
    execFileSync('true')
    await new Promise((resolve) => net.connect('/nothing/here').on('error', resolve))
  `)
  server.close()
  expect(counts).toMatchObject({
    TCPCONNECTWRAP: 1,
    GETADDRINFOREQWRAP: 1,
    UDPWRAP: 1,
    SPAWN: 1,
    SPAWNSYNC: 1,
    PIPECONNECTWRAP: 1,
  })
})
