import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readFile, symlink } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { run } from '../support/run-retake.mjs'
import { folderWith } from './workspace.js'
import { freePort } from '../support/free-port.mjs'

const page = await readFile(new URL('../../docs/library.md', import.meta.url), 'utf8')
const cli = fileURLToPath(new URL('../../packages/cli', import.meta.url))

/** Files and commands of the page, in the order in which a reader meets them. */
const files = Object.fromEntries(
  [...page.matchAll(/^```js\n\/\/ (\S+)\n(.*?)^```$/gms)].map(([, name = '', code = '']) => [
    name,
    code,
  ]),
)
const commands = [...page.matchAll(/^```sh\n(.*?)^```$/gms)].flatMap(([, lines = '']) =>
  lines.trim().split('\n'),
)

/** Starts the server of the page and waits until it accepts connections. */
async function start(folder: string, file: string): Promise<string> {
  const port = await freePort()
  const server = spawn(process.execPath, [file], {
    cwd: folder,
    env: { ...process.env, PORT: String(port) },
    stdio: 'ignore',
  })
  onTestFinished(async () => {
    server.kill()
    if (server.exitCode === null && server.signalCode === null) await once(server, 'close')
  })
  for (;;) {
    const socket = connect(port, '127.0.0.1')
    const isListening = await once(socket, 'connect').then(
      () => true,
      () => false,
    )
    socket.destroy()
    if (isListening || server.exitCode !== null) return `http://127.0.0.1:${port}`
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

test('every file and every command of docs/library.md works as the page says', async () => {
  const { folder, retake } = await folderWith(files)
  await mkdir(join(folder, 'node_modules'))
  await symlink(cli, join(folder, 'node_modules', 'retake'))
  expect(Object.keys(files)).toEqual(['agent.mjs', 'server.mjs', 'again.mjs'])
  let url = ''
  const said: Record<string, string> = {}
  for (const command of commands) {
    const [program = '', ...args] = command.match(/'[^']*'|\S+/g) ?? []
    const words = args.map((word) => word.replaceAll("'", ''))
    if (command === 'node server.mjs') url = await start(folder, 'server.mjs')
    else if (program === 'curl') {
      const answer = await fetch(url, { method: 'POST', body: words[1] ?? '' })
      said[command] =
        `${answer.status} ${answer.headers.get('x-retake-run')} ${await answer.text()}`
    } else {
      const { stdout, stderr } =
        program === 'npx'
          ? await retake(words.slice(1))
          : await run(process.execPath, words, folder)
      said[command] = stdout + stderr
    }
  }
  const saying = (start: string): string =>
    Object.entries(said).find(([command]) => command.startsWith(start))?.[1] ?? ''
  expect(saying(`curl -d '{"sku":"lamp"`)).toMatch(/^200 \d{8}-\d{6}-\w{4} \{"total":98,/)
  expect(saying(`curl -d '{"sku":"sofa"`)).toMatch(/^500 /)
  expect(saying('npx retake list').trim().split('\n')).toHaveLength(2)
  expect(saying('npx retake list')).toContain('order · RangeError: no price for s')
  expect(saying('npx retake show')).toMatch(/input \{"sku":"sofa","count":1\}\ntags production/)
  expect(saying('npx retake replay')).toMatch(/^identical/m)
  expect(saying('npx retake debug eval')).toContain('sofa')
  expect(saying('npx retake fork')).toMatch(/^forked .*exit code 0/m)
  expect(saying('npx retake rerun')).toMatch(/^identical/m)
  expect(saying('node again.mjs')).toMatch(/^249 249 99$/m)
})
