import { copyFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { folderWith, tapesOf } from './workspace.js'

const agent = `import { readFileSync } from 'node:fs'
const price = 30 + Math.floor(Math.random() * 10)
console.log(import.meta.url, readFileSync('shop.json', 'utf8').length, price)
`

test('a tape from another machine replays and can be inspected in a checkout at another path', async () => {
  const files = { 'package.json': '{}', 'agent.mjs': agent, 'shop.json': '{}' }
  const production = await folderWith(files)
  const recorded = await production.retake(['record', 'agent.mjs'])
  const [tape = ''] = await tapesOf(production)
  const laptop = await folderWith(files)
  await copyFile(tape, join(laptop.folder, 'failed.tape'))
  await rm(production.folder, { recursive: true })

  const replayed = await laptop.retake(['replay', 'failed.tape', '--trust'])
  expect(replayed.stderr).toContain('identical')
  expect(replayed.stderr).not.toContain('since the recording')
  expect(replayed.code).toBe(0)

  const price = recorded.stdout.trim().split(' ').at(-1)
  const at = ['--at', 'agent.mjs:3', 'price']
  const evaluated = await laptop.retake(['debug', 'eval', 'failed.tape', '--trust', ...at])
  expect(evaluated.stdout).toContain(price)
  const stepped = await laptop.retake(['debug', 'step', 'failed.tape', '--trust'], {
    input: 'list\n',
  })
  expect(stepped.code).toBe(0)

  const changed = await folderWith({ ...files, 'agent.mjs': agent.replace('30 +', '50 +') })
  await copyFile(join(laptop.folder, 'failed.tape'), join(changed.folder, 'failed.tape'))
  const diverged = await changed.retake(['replay', 'failed.tape', '--trust'])
  expect(diverged.code).toBe(3)
  expect(diverged.stderr).toContain('Changed since the recording: agent.mjs.')
  expect(diverged.stderr).toContain('at   agent.mjs:3')
})

test('a tape whose folder and program are both missing is refused', async () => {
  const production = await folderWith({ 'agent.mjs': agent, 'shop.json': '{}' })
  await production.retake(['record', 'agent.mjs'])
  const [tape = ''] = await tapesOf(production)
  const empty = await folderWith({})
  await copyFile(tape, join(empty.folder, 'failed.tape'))
  await rm(production.folder, { recursive: true })
  const replayed = await empty.retake(['replay', 'failed.tape', '--trust'])
  expect(replayed.stderr).toContain('RECORDED_FOLDER_MISSING')
})
