import { spawnSync } from 'node:child_process'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { folderWith } from './workspace.js'
import { repetitions } from '../support/soak.js'

const replays = repetitions('RETAKE_REPLAYS', { beforeMerge: 1, soak: 20 })
const hasPython = spawnSync('python3', ['--version']).status === 0

/** Concurrent requests, different and identical, whole and streamed; prints every piece as it comes. */
const program = `
import asyncio, os, sys
from urllib.parse import urlsplit

base = urlsplit(os.environ['OPENAI_BASE_URL'])

async def ask(number, text, stream):
    reader, writer = await asyncio.open_connection(base.hostname, base.port)
    body = ('{"stream": %s, "text": "%s"}' % ('true' if stream else 'false', text)).encode()
    writer.write(('POST %s/chat/completions HTTP/1.1\\r\\nhost: %s\\r\\ncontent-type: application/json\\r\\n'
        'content-length: %d\\r\\nconnection: close\\r\\n\\r\\n' % (base.path, base.netloc, len(body))).encode())
    await writer.drain()
    # As HTTP clients do: the body comes after the head.
    writer.write(body)
    await writer.drain()
    while (line := await reader.readline()) != b'':
        if b'answer' in line:
            print(number, line.decode().strip(), flush=True)
    writer.close()
    return number

async def main():
    for stream in [False, True]:
        print(await asyncio.gather(*[ask(n, 'question %d' % n, stream) for n in range(10)]))
        print(await asyncio.gather(*[ask(n, 'the same question', stream) for n in range(10)]))

asyncio.run(main())
`

/** Answers after a moment that is another one each time, streams in several pieces. */
async function startMoodyServer(): Promise<{ url: string; stop: () => void }> {
  let asked = 0
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', (data: Buffer) => (body += data.toString()))
    request.on('end', () => {
      const number = asked++
      let pieces = body.includes('"stream": true') ? 5 : 1
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      const next = (): void => {
        response.write(`data: answer ${number} piece ${pieces}\n\n`)
        pieces -= 1
        if (pieces > 0) setTimeout(next, (number * 7) % 11)
        else response.end()
      }
      setTimeout(next, (number * 13) % 29)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const stop = (): void => {
    server.close()
    server.closeAllConnections()
  }
  onTestFinished(stop)
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, stop }
}

test.skipIf(!hasPython)(
  `concurrent requests of a command, different and identical, replay ${replays} times`,
  async () => {
    const workspace = await folderWith({ 'agent.py': program })
    const server = await startMoodyServer()
    const recorded = await workspace.retake(['record', '--', 'python3', 'agent.py'], {
      env: { OPENAI_BASE_URL: server.url },
    })
    server.stop()
    expect(recorded, recorded.stderr).toMatchObject({ code: 0 })
    // The recording is worth repeating: answers did not come in the order of the questions.
    const numbers = [...recorded.stdout.matchAll(/^(\d) data: answer/gm)].map(([, n]) => Number(n))
    expect(numbers.slice(0, 10)).not.toEqual(numbers.slice(0, 10).toSorted((a, b) => a - b))
    for (let time = 0; time < replays; time++) {
      const replayed = await workspace.retake(['replay', 'last'])
      expect(replayed.stdout, replayed.stderr).toBe(recorded.stdout)
      expect(replayed).toMatchObject({ code: 0 })
    }
  },
)
