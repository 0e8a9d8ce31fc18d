import { spawn } from 'node:child_process'
import { createCipheriv, createHash } from 'node:crypto'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer, request as ask } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { cli, folderWith } from './workspace.js'
import { isSoak } from '../support/soak.js'

const MB = 1024 * 1024
// Large beside the garbage that V8 leaves before it collects external memory, some 80 MB.
const LARGE_MB = 160

/** Linux tells how much memory a process had at its peak. */
const canMeasure = process.platform === 'linux'

/** The same incompressible bytes each time, one megabyte at a time, so that the sender holds little. */
function* largeBody(): Generator<Buffer> {
  const noise = createCipheriv('aes-128-ctr', Buffer.alloc(16), Buffer.alloc(16))
  const zeros = Buffer.alloc(MB)
  for (let count = 0; count < LARGE_MB; count++) yield noise.update(zeros)
}

async function startUpstream(): Promise<string> {
  const server = createServer((request, response) => {
    let size = 0
    request.on('data', (piece: Buffer) => (size += piece.length))
    request.on('end', () => {
      if (request.url === '/upload') response.end(JSON.stringify({ size }))
      else Readable.from(largeBody()).pipe(response)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function startProxy(folder: string, args: readonly string[]) {
  const child = spawn(process.execPath, [cli, 'proxy', ...args, '--port', '0', '--json'], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const [line] = (await once(child.stdout, 'data')) as [Buffer]
  const { listening } = JSON.parse(line.toString()) as { listening: string }
  const peakMb = async () => {
    const status = await readFile(`/proc/${child.pid}/status`, 'utf8')
    return Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) / 1024
  }
  const stop = async () => {
    const closed = once(child, 'close')
    child.kill('SIGINT')
    await closed
  }
  return { url: listening, peakMb, stop }
}

/** Reads slower than the provider sends, and keeps nothing but a digest. */
async function readSlowly(url: string): Promise<string> {
  const asked = ask(`${url}/download`).end()
  const [answer] = (await once(asked, 'response')) as [Readable]
  const hash = createHash('sha256')
  let size = 0
  for await (const piece of answer) {
    hash.update(piece as Buffer)
    const before = Math.floor(size / (20 * MB))
    size += (piece as Buffer).length
    if (Math.floor(size / (20 * MB)) > before) await pause(150)
  }
  return `${size} ${hash.digest('hex')}`
}

async function upload(url: string): Promise<string> {
  const asked = ask(`${url}/upload`, { method: 'POST' })
  Readable.from(largeBody()).pipe(asked)
  const [answer] = (await once(asked, 'response')) as [Readable]
  return (await answer.toArray()).join('')
}

test.skipIf(!canMeasure)(
  `an answer of ${LARGE_MB} MB to a slow client is never in memory as a whole, recording or replaying`,
  async () => {
    const { folder } = await folderWith({})
    const recording = await startProxy(folder, ['record', '--upstream', await startUpstream()])
    const idleMb = await recording.peakMb()
    const recorded = await readSlowly(recording.url)
    expect((await recording.peakMb()) - idleMb).toBeLessThan(LARGE_MB * 0.8)
    await recording.stop()
    expect(recorded).toMatch(new RegExp(`^${LARGE_MB * MB} `))
    const replaying = await startProxy(folder, ['replay', 'last'])
    expect(await readSlowly(replaying.url)).toBe(recorded)
    expect((await replaying.peakMb()) - idleMb).toBeLessThan(LARGE_MB * 0.8)
    await replaying.stop()
  },
)

test.runIf(isSoak && canMeasure)(
  `a request of ${LARGE_MB} MB is in memory a few times at most, and replayed`,
  async () => {
    const { folder } = await folderWith({})
    const recording = await startProxy(folder, ['record', '--upstream', await startUpstream()])
    const idleMb = await recording.peakMb()
    const recorded = await upload(recording.url)
    expect(recorded).toBe(JSON.stringify({ size: LARGE_MB * MB }))
    expect((await recording.peakMb()) - idleMb).toBeLessThan(LARGE_MB * 6)
    await recording.stop()
    const replaying = await startProxy(folder, ['replay', 'last'])
    expect(await upload(replaying.url)).toBe(recorded)
    await replaying.stop()
  },
)
