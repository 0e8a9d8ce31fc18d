import { readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { openTape } from '@retake/tape/node'
import { expect, onTestFinished, test } from 'vitest'
import { folderWith, tapesOf } from './workspace.js'
import { soakOnly } from '../support/soak.js'

/** A server that counts what reaches it. */
async function counter() {
  let requests = 0
  const server = createServer((_request, response) => response.end(String(++requests)))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests: () => requests,
  }
}

const setup = (url: string): string => `import { appendFileSync } from 'node:fs'
appendFileSync('effects.txt', 'imported\\n')
globalThis.greeting = await (await fetch('${url}')).text()
`
const agent = `console.log('greeting', globalThis.greeting, globalThis.required ?? '', Date.now() > 0)
console.log(process.execArgv.join(' '), process.env.NODE_OPTIONS ?? '')`

test('modules that Node preloads are part of the run: their effects do not repeat on replay', async () => {
  const { url, requests } = await counter()
  const workspace = await folderWith({
    'setup.mjs': setup(url),
    'setup.cjs': `require('node:fs').appendFileSync('effects.txt', 'required\\n'); globalThis.required = Math.random()`,
    'agent.mjs': agent,
  })
  const { retake, folder } = workspace
  const flags = [
    '--node-arg=--import=./setup.mjs',
    '--node-arg=--require',
    '--node-arg=./setup.cjs',
  ]
  const recorded = await retake(['record', ...flags, 'agent.mjs'])
  expect(recorded.code, recorded.stderr).toBe(0)
  expect(recorded.stdout).toMatch(
    /^greeting 1 0\.\d+ true\n--import=\.\/setup\.mjs --require \.\/setup\.cjs \n$/,
  )
  for (let times = 0; times < 2; times++) {
    const replayed = await retake(['replay', 'last'])
    expect(replayed.stderr).toMatch(/^identical/m)
    expect(replayed).toMatchObject({ code: 0, stdout: recorded.stdout })
  }
  expect(requests()).toBe(1)
  expect(await readFile(join(folder, 'effects.txt'), 'utf8')).toBe('required\nimported\n')
  const [tape = ''] = await tapesOf(workspace)
  expect(openTape(tape).details.preloads).toEqual([
    { how: 'import', name: './setup.mjs' },
    { how: 'require', name: './setup.cjs' },
  ])
})

test('modules in NODE_OPTIONS are part of the run, and a replay needs no NODE_OPTIONS', async () => {
  soakOnly()
  const { url, requests } = await counter()
  // The command line is a Node program, too, and preloads them outside of any run.
  const onlyAgent = `if (process.argv[1]?.endsWith('agent.mjs')) await import('./setup.mjs')`
  const { retake, folder } = await folderWith({
    'setup.mjs': setup(url),
    'only-agent.mjs': onlyAgent,
    'agent.mjs': agent,
  })
  const NODE_OPTIONS = '--no-deprecation --import ./only-agent.mjs'
  const recorded = await retake(['record', 'agent.mjs'], { env: { NODE_OPTIONS } })
  expect(recorded.stdout).toBe(`greeting 1  true\n ${NODE_OPTIONS}\n`)
  for (const env of [{}, { NODE_OPTIONS }, { NODE_OPTIONS: '--no-warnings' }]) {
    const replayed = await retake(['replay', 'last'], { env })
    expect(replayed.stderr).toMatch(/^identical/m)
    expect(replayed).toMatchObject({ code: 0, stdout: recorded.stdout })
  }
  expect(requests()).toBe(1)
  expect(await readFile(join(folder, 'effects.txt'), 'utf8')).toBe('imported\n')
})

test('a preloaded module that throws ends the program, as under Node', async () => {
  soakOnly()
  const { retake } = await folderWith({
    'setup.mjs': `throw new Error('no setup')`,
    'agent.mjs': agent,
  })
  const recorded = await retake(['record', '--node-arg=--import=./setup.mjs', 'agent.mjs'])
  expect(recorded).toMatchObject({ code: 1, stdout: '' })
  expect(recorded.stderr).toContain('Error: no setup')
})

test('a preloaded module may register a loader', async () => {
  soakOnly()
  const { retake } = await folderWith({
    'register.mjs': `import { register } from 'node:module'\nregister('./hooks.mjs', import.meta.url)`,
    'hooks.mjs': `export async function load(url, context, next) {
  if (!url.endsWith('.txt')) return next(url, context)
  return { format: 'module', shortCircuit: true, source: 'export default "text"' }
}`,
    'note.txt': '',
    'agent.mjs': `import text from './note.txt'\nconsole.log(text, Math.random())`,
  })
  const recorded = await retake(['record', '--node-arg=--import=./register.mjs', 'agent.mjs'])
  expect(recorded.stdout, recorded.stderr).toMatch(/^text 0\./)
  const replayed = await retake(['replay', 'last'])
  expect(replayed, replayed.stderr).toMatchObject({ code: 0, stdout: recorded.stdout })
})

test('a run with --env-file replays if the file is missing or changed', async () => {
  const { retake, folder } = await folderWith({
    'shop.env': 'SHOP_MODE=recorded',
    'agent.mjs': `console.log(process.env.SHOP_MODE, process.execArgv.join())`,
  })
  const recorded = await retake(['record', '--node-arg=--env-file=shop.env', 'agent.mjs'])
  expect(recorded.stdout, recorded.stderr).toBe('recorded --env-file=shop.env\n')
  await writeFile(join(folder, 'shop.env'), 'SHOP_MODE=edited')
  expect(await retake(['replay', 'last'])).toMatchObject({ code: 0, stdout: recorded.stdout })
  await rm(join(folder, 'shop.env'))
  expect(await retake(['replay', 'last'])).toMatchObject({ code: 0, stdout: recorded.stdout })
})

test('a password in the file of --env-file is not on the tape, whatever its name', async () => {
  const chosen = ['ribbon', 'velvet', '58'].join('')
  const { retake, folder } = await folderWith({
    'shop.env': `SHOP_MAILER=${chosen}`,
    'agent.mjs': `console.log(process.env.SHOP_MAILER.length, process.env.SHOP_MAILER)`,
  })
  const recorded = await retake(['record', '--node-arg=--env-file=shop.env', 'agent.mjs'])
  expect(recorded.stdout, recorded.stderr).toBe(`${chosen.length} ${chosen}\n`)
  await retake(['export', 'last', '--jsonl', '-o', 'run.jsonl'])
  const exported = await readFile(join(folder, 'run.jsonl'), 'utf8')
  expect(exported).toContain('SHOP_MAILER')
  expect(exported).not.toContain(chosen)
  expect(await retake(['replay', 'last'])).toMatchObject({ code: 0, stdout: recorded.stdout })
  await rm(join(folder, 'shop.env'))
  expect(await retake(['verify', 'last'])).toMatchObject({ code: 0 })
})
