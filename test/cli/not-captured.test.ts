import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { cli, folderWith, smallAgent } from './workspace.js'
import { run } from '../support/run-retake.mjs'
import { soakOnly } from '../support/soak.js'

const keys = `import { generateKeyPairSync } from 'node:crypto'
for (let i = 0; i < 3; i++) generateKeyPairSync('ed25519')
`

test('record names what was not captured, where, how often, and what follows for replay', async () => {
  const { retake, folder } = await folderWith({ 'agent.mjs': keys })
  const { stderr, code } = await retake(['record', 'agent.mjs'])
  expect(stderr).toMatch(
    /^recorded .*\nnot captured: crypto\.generateKeyPairSync at agent\.mjs:2 \(3 times\) — its value differs on replay\n$/,
  )
  expect(code).toBe(0)
  const found = {
    what: 'crypto.generateKeyPairSync',
    at: expect.stringMatching(`^${folder}/agent.mjs:2:`) as string,
    count: 3,
    consequence: 'its value differs on replay',
  }
  const shown = JSON.parse((await retake(['show', 'last', '--json'])).stdout)
  expect(shown).toMatchObject({ notCaptured: [found] })
  expect((await retake(['show', 'last'])).stdout).toContain(
    'crypto.generateKeyPairSync at agent.mjs:2 (3 times) — its value differs on replay',
  )
  const json = await retake(['record', '--json', 'agent.mjs'])
  expect(JSON.parse(json.stderr)).toMatchObject({ notCaptured: [found] })
})

test('record adds nothing to its output if everything was captured, with or without --strict', async () => {
  soakOnly()
  const { retake } = await folderWith({ 'agent.mjs': smallAgent })
  const { stderr, code } = await retake(['record', '--strict', 'agent.mjs'])
  expect(stderr).toMatch(/^recorded .*\n$/)
  expect(code).toBe(0)
  const json = await retake(['record', '--json', 'agent.mjs'])
  expect(JSON.parse(json.stderr)).toMatchObject({ notCaptured: [] })
})

test('a registry that a package makes for the agent is not reported, one of the agent is', async () => {
  const { retake } = await folderWith({
    'node_modules/cache/index.js': 'exports.make = () => new FinalizationRegistry(() => {})',
    'agent.mjs': `import { make } from 'cache'\nmake()\nnew FinalizationRegistry(() => {})`,
  })
  const { stderr } = await retake(['record', 'agent.mjs'])
  expect(stderr.match(/not captured: .*/g)).toEqual([
    expect.stringContaining('FinalizationRegistry at agent.mjs:3'),
  ])
})

test("record --strict exits with 3 when something was not captured, or with the agent's own code", async () => {
  const { retake } = await folderWith({
    'agent.mjs': keys,
    'failing.mjs': `${keys}process.exitCode = 9`,
  })
  expect((await retake(['record', '--strict', 'agent.mjs'])).code).toBe(3)
  expect((await retake(['record', '--strict', 'failing.mjs'])).code).toBe(9)
})

test('record lists five things that were not captured and counts the rest', async () => {
  soakOnly()
  const { retake } = await folderWith({
    'agent.mjs': `import { generateKeySync } from 'node:crypto'
${`generateKeySync('hmac', { length: 64 })\n`.repeat(8)}`,
  })
  const { stderr } = await retake(['record', 'agent.mjs'])
  const lines = stderr.trimEnd().split('\n')
  expect(lines.slice(1, 6).every((line) => line.startsWith('not captured: '))).toBe(true)
  expect(lines.slice(6)).toEqual(['and 3 more: retake show last'])
})

const server = `import { createServer } from 'node:http'
const server = createServer((request, response) => response.end('ok'))
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
console.log('listening')
server.close()
`

test('record warns that the run cannot be replayed as soon as a program starts to listen', async () => {
  soakOnly()
  const { retake } = await folderWith({ 'server.mjs': server })
  const { stdout, stderr, code } = await retake(['record', 'server.mjs'])
  expect({ stdout, code }).toEqual({ stdout: 'listening\n', code: 0 })
  expect(stderr).toMatch(
    /^retake: The program listens for connections \(.*server\.mjs:3:\d+\)\. .*can be replayed only up to here\. .*`record\(\)`.*\nrecorded .*\nnot captured: net\.Server\.listen at server\.mjs:3 — replay stops there\n$/,
  )
  const replayed = await retake(['replay', 'last'])
  expect(replayed.code).not.toBe(0)
  expect(replayed.stderr).toContain('`record()`')
  expect(replayed.stderr).not.toContain('tool()')
})

test('record warns that it waits for a process that the program does not wait for', async () => {
  const { retake } = await folderWith({
    'child.mjs': `setTimeout(() => console.log('late'), 200)`,
    'agent.mjs': `
import { spawn } from 'node:child_process'
spawn(process.execPath, ['child.mjs'], { stdio: 'inherit' }).unref()
`,
  })
  const { stdout, stderr, code } = await retake(['record', '--strict', 'agent.mjs'])
  expect({ stdout, code }).toEqual({ stdout: 'late\n', code: 0 })
  expect(stderr).toMatch(/^retake: .*agent\.mjs:3:\d+\), but the recording waits for its output/)
})

test('a replay stops where a program listens, and a rerun leaves no branch', async () => {
  const { retake, folder } = await folderWith({ 'server.mjs': server })
  await retake(['record', 'server.mjs'])
  const replayed = await retake(['replay', 'last'])
  expect(replayed.code).toBe(3)
  expect(replayed.stderr).toMatch(
    / The program listens for connections\s[^]+ fix {2}Record each request/,
  )
  const rerun = await retake(['rerun', 'last'])
  expect({ code: rerun.code, stderr: rerun.stderr }).toEqual({
    code: 1,
    stderr: expect.stringContaining('SERVER_NOT_REPLAYABLE') as string,
  })
  expect(await readdir(join(folder, '.retake/runs'))).toHaveLength(1)
})

test('record --strict stops a program that starts to listen, and completes the tape', async () => {
  const { retake } = await folderWith({ 'server.mjs': server })
  const { stdout, stderr, code } = await retake(['record', '--strict', 'server.mjs'])
  expect({ stdout, code }).toEqual({ stdout: '', code: 3 })
  expect(stderr).toContain('net.Server.listen at server.mjs:3 — replay stops there')
  expect((await retake(['verify', 'last', '--integrity-only'])).stdout).toContain('intact')
})

test('the tape of a command, and the file of its output, are not among the files that it wrote', async () => {
  const { folder } = await folderWith({})
  const command = ['record', '--out', 'run.tape', '--', 'sh', '-c', 'echo > mine.txt; echo hello']
  const words = [process.execPath, cli, ...command].map((word) => `'${word}'`)
  const { stderr } = await run('sh', ['-c', `${words.join(' ')} > output.txt`], folder)
  expect(stderr).toContain('not captured: file mine.txt')
  expect(stderr).not.toContain('file run.tape')
  expect(stderr).not.toContain('file output.txt')
})
