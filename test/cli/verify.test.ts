import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { folderWith, smallAgent, tapesOf } from './workspace.js'

test('verify of a folder gates every tape: intact, diverged, damaged', async () => {
  const workspace = await folderWith({
    'good.mjs': smallAgent,
    'edited.mjs': `console.log('before')`,
    'spoiled.mjs': `console.log('original')`,
  })
  const { retake, folder } = workspace
  for (const file of ['good.mjs', 'edited.mjs', 'spoiled.mjs']) await retake(['record', file])
  await writeFile(join(folder, 'edited.mjs'), `console.log('after')`)
  for (const path of await tapesOf(workspace)) {
    const bytes = await readFile(path)
    const at = bytes.indexOf('original\n')
    if (at > 0) await writeFile(path, Buffer.from(bytes.fill('X', at, at + 3)))
  }
  const { stdout, stderr, code } = await retake(['verify', '.retake/runs'])
  expect(code).toBe(3)
  expect(stderr).toMatch(
    /^\S+: code changed since the recording: edited\.mjs\n2 intact, 1 damaged, 1 replayed identically, 1 diverged\n$/,
  )
  expect(stdout).toMatch(/ intact +identical +[0-9a-f]{64} +\d+ events$/m)
  expect(stdout).toMatch(/ intact +diverged +[0-9a-f]{64} +event \d+: it wrote something else/m)
  expect(stdout).toMatch(/ damaged +not tried /m)
})

test('--integrity-only does not run the program', async () => {
  const { retake, folder } = await folderWith({ 'agent.mjs': smallAgent })
  await retake(['record', 'agent.mjs'])
  await writeFile(join(folder, 'agent.mjs'), `throw new Error('must not run')`)
  const { stdout, code } = await retake(['verify', 'last', '--integrity-only', '--json'])
  expect(code).toBe(0)
  expect(JSON.parse(stdout)).toMatchObject({ integrity: 'intact', replay: 'not tried', ok: true })
  expect((await retake(['verify', 'last'])).code).toBe(3)
})

test('the output of a verified program is not shown', async () => {
  const { retake } = await folderWith({ 'agent.mjs': smallAgent })
  await retake(['record', 'agent.mjs'])
  const { stdout, code } = await retake(['verify', 'last'])
  expect(code).toBe(0)
  expect(stdout).not.toContain('started')
})
