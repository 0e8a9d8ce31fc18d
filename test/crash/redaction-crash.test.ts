/** A redacted recording is killed at random moments: nothing open is on the disk, and the rest replays. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { folderWith } from '../cli/workspace.js'
import { contentOf } from '../support/redacted-texts.js'
import { repetitions } from '../support/soak.js'

const kills = repetitions('RETAKE_REDACTION_KILLS', { beforeMerge: 3, soak: 100 })
const cli = fileURLToPath(new URL('../../packages/cli/bin/retake.mjs', import.meta.url))

const EMAIL = 'ann.lee@mail.example.org'
const NAME = 'Zoë Ångström'
const CARD = '4111 1111 1111 1111'
/** A part of a value is enough. */
const OPEN = ['ann.lee', 'example.org', 'Ångström', '4111 1111']

const AGENT = `
const [, , url, mail] = process.argv
let said = ''
for (let turn = 0; turn < 1000; turn++) {
  const response = await fetch(url, { method: 'POST', body: JSON.stringify({ mail, said, turn }) })
  const pieces = []
  for await (const piece of response.body) {
    pieces.push(piece)
    process.stdout.write(piece)
  }
  said = Buffer.concat(pieces).toString()
}
`

/** Streams personal data in pieces that cut every value. */
async function startServer(): Promise<string> {
  const stream = async (response: ServerResponse): Promise<void> => {
    const text = Buffer.from(`Dear ${NAME} <${EMAIL}>, your card ${CARD} was charged. `)
    for (let at = 0; at < text.length;) {
      const length = 1 + Math.floor(Math.random() * 12)
      response.write(text.subarray(at, (at += length)))
      await new Promise((resolve) => setTimeout(resolve, 1))
    }
    response.end()
  }
  const server = createServer((request, response) => {
    request.resume()
    void stream(response)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}

/** Records until a random moment after the first address was printed; returns what was printed. */
async function recordAndKill(
  folder: string,
  rules: readonly string[],
  url: string,
): Promise<string> {
  const args = [cli, 'record', ...rules, 'agent.mjs', url, EMAIL]
  const child = spawn(process.execPath, args, {
    cwd: folder,
    env: { ...process.env, XDG_STATE_HOME: join(folder, 'owner') },
    stdio: ['ignore', 'pipe', 'ignore'],
    detached: true,
  })
  let killer: NodeJS.Timeout | undefined
  const printed: Buffer[] = []
  child.stdout.on('data', (piece: Buffer) => {
    printed.push(piece)
    if (killer !== undefined || !Buffer.concat(printed).includes(EMAIL)) return
    killer = setTimeout(() => process.kill(-Number(child.pid), 'SIGKILL'), Math.random() * 400)
  })
  const [, signal] = (await once(child, 'close')) as [number | null, string | null]
  expect(signal).toBe('SIGKILL')
  // The kill may have cut the last character.
  return new TextDecoder().decode(Buffer.concat(printed), { stream: true })
}

async function killedRun(rules: readonly string[]) {
  const workspace = await folderWith({ 'agent.mjs': AGENT, 'names.txt': `${NAME}\n` })
  const printed = await recordAndKill(workspace.folder, rules, await startServer())
  const content = contentOf(join(workspace.folder, '.retake'))
  return { ...workspace, printed, found: OPEN.filter((text) => content.includes(text)) }
}

test(
  `${kills} redacted recordings, killed at random moments, hold nothing open and replay`,
  { timeout: 60_000 + kills * 30_000 },
  async () => {
    const rules = ['email', 'card', 'names:names.txt'].flatMap((rule) => ['--redact', rule])
    for (let kill = 0; kill < kills; kill++) {
      const run = await killedRun(kill % 2 === 0 ? rules : [...rules, '--redact', 'content'])
      expect(run.found).toEqual([])
      const env = { XDG_STATE_HOME: join(run.folder, 'owner') }
      const replayed = await run.retake(['replay', 'last'], { env })
      // What the killed run would have done next is unknown.
      expect(replayed.code, replayed.stderr).toBe(3)
      // Everything that was printed is on the tape.
      expect(replayed.stdout.slice(0, run.printed.length)).toBe(run.printed)
      await run.remove()
    }
  },
)

test('without rules, the same search finds everything', async () => {
  expect((await killedRun([])).found).toEqual(OPEN)
})
