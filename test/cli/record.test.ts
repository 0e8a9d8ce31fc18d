import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { openTape } from '@retake/tape/node'
import { expect, test } from 'vitest'
import { folderWith, smallAgent, tapesOf } from './workspace.js'

test('record passes on output and exit code, and prints the run on stderr', async () => {
  const { retake } = await folderWith({
    'agent.mjs': `console.log('out'); console.error('err'); process.exitCode = 9`,
  })
  const { stdout, stderr, code } = await retake(['record', 'agent.mjs'])
  expect({ stdout, code }).toEqual({ stdout: 'out\n', code: 9 })
  expect(stderr).toMatch(
    /^err\nrecorded \d{8}-\d{6}-[a-z]{4} · exit code 9 · 0 steps · .* · retake show last\n$/,
  )
})

test('everything after the file belongs to the agent, options too', async () => {
  const { retake } = await folderWith({ 'agent.mjs': smallAgent })
  const { stdout } = await retake(['record', '--name', 'n', 'agent.mjs', '--name', 'x', '--', '-h'])
  expect(stdout).toMatch(/done --name x -- -h\n$/)
})

test('the agent sees no trace of Retake in its flags and environment', async () => {
  const { retake } = await folderWith({
    'agent.mjs': `console.log(process.execArgv, Object.keys(process.env).filter((name) => name.startsWith('RETAKE')))`,
  })
  const { stdout } = await retake(['record', '--node-arg=--no-deprecation', 'agent.mjs'])
  expect(stdout).toBe(`[ '--no-deprecation' ] []\n`)
})

test('tapes go to .retake/runs, which keeps itself out of version control', async () => {
  const workspace = await folderWith({ 'agent.mjs': smallAgent })
  await workspace.retake(['record', '--name', 'refund', 'agent.mjs', 'a'])
  const [path = ''] = await tapesOf(workspace)
  const tape = openTape(path)
  expect(tape.status).toBe('sealed')
  expect(tape.run).toMatchObject({ name: 'refund', scope: 'process' })
  expect(tape.details).toMatchObject({ entry: 'agent.mjs', args: ['a'], cwd: workspace.folder })
  expect(readFileSync(join(workspace.folder, '.retake', '.gitignore'), 'utf8')).toBe('*\n')
})

test('--dir chooses the folder, and the hint names the tape in it', async () => {
  const { retake, folder } = await folderWith({ 'agent.mjs': smallAgent })
  const { stderr } = await retake(['record', '--dir', 'tapes/here', 'agent.mjs'])
  const [, path = ''] = /retake show (\S+)/.exec(stderr) ?? []
  expect(path).toMatch(/^tapes\/here\/.*\.tape$/)
  expect(existsSync(join(folder, path))).toBe(true)
  expect(existsSync(join(folder, '.retake'))).toBe(false)
  expect((await retake(['show', path])).code).toBe(0)
})

test('the agent can read its stdin', async () => {
  const { retake } = await folderWith({
    'agent.mjs': `let text = ''; for await (const chunk of process.stdin) text += chunk; console.log(text.toUpperCase())`,
  })
  expect((await retake(['record', 'agent.mjs'], { input: 'hello' })).stdout).toBe('HELLO\n')
  expect((await retake(['replay', 'last'])).stdout).toBe('HELLO\n')
})

test('record --json prints the result as one line on stderr', async () => {
  const { retake } = await folderWith({ 'agent.mjs': smallAgent })
  const { stderr } = await retake(['record', '--json', 'agent.mjs'])
  expect(JSON.parse(stderr)).toMatchObject({ code: 0, steps: 0, cutOff: false })
})
