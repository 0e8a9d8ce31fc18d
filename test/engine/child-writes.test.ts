import { copyFile } from 'node:fs/promises'
import { openTape } from '@retake/tape/node'
import { expect, test } from 'vitest'
import { folderWith, tapesOf } from '../cli/workspace.js'

/** Writes to a child before and after its answers; the second line is taken from a file. */
const agent = `
import { spawn } from 'node:child_process'
import { once } from 'node:events'
const child = spawn('cat')
const say = async (text) => {
  child.stdin.write(text)
  const [answer] = await once(child.stdout, 'data')
  console.log('heard', answer.toString().trim())
}
await say('first ' + Math.random() + '\\n')
await say(process.env.AGENT_TOKEN + '\\n')
await say(SECOND + '\\n')
child.stdin.end()
await once(child, 'close')
`
const withSecond = (text: string): string => agent.replace('SECOND', JSON.stringify(text))
/** Looks like a key; made here, so that none stands in a file. */
const token = ['tok', 'made', 'here'].join('-').padEnd(32, 'x')

async function recorded() {
  const workspace = await folderWith({
    'agent.mjs': withSecond('second'),
    'other.mjs': withSecond('fourth'),
  })
  const made = await workspace.retake(['record', 'agent.mjs'], { env: { AGENT_TOKEN: token } })
  expect(made.code, made.stderr).toBe(0)
  const [path = ''] = await tapesOf(workspace)
  return { workspace, path, stdout: made.stdout }
}

test('writes to a child are on the tape in order, with secrets masked', async () => {
  const { path, stdout } = await recorded()
  const tape = openTape(path)
  const said = [...tape.events()]
    .filter(({ type }) => type === 'write' || type === 'output')
    .map(({ type, seq }) => `${type} ${Buffer.from(tape.body(seq)).toString().trim()}`)
  const [first = ''] = stdout.replace('heard ', '').split('\n')
  const masked = said[2]?.slice('write '.length) ?? ''
  expect(said).toEqual([
    `write ${first}`,
    `output heard ${first}`,
    `write ${masked}`,
    `output heard ${masked}`,
    'write second',
    'output heard second',
  ])
  expect(masked).toHaveLength(token.length)
  expect(masked).not.toBe(token)
})

test('different bytes stop a replay at the write, and are shown', async () => {
  const { workspace } = await recorded()
  await copyFile(`${workspace.folder}/other.mjs`, `${workspace.folder}/agent.mjs`)
  const { code, stderr } = await workspace.retake(['replay', 'last'])
  expect(code).toBe(3)
  expect(stderr).toContain('It wrote something else to spawn cat')
  expect(stderr).toMatch(/second[^]*fourth/)
})

test('a program leaves a process alone as it would without a recording', async () => {
  const { retake } = await folderWith({
    'agent.mjs': `
import { spawn } from 'node:child_process'
import { once } from 'node:events'
const start = () => spawn('sh', ['-c', 'sleep 20; echo never'])
const [unread, left] = [start(), start()]
// The other process of the shell keeps the pipes open.
unread.stdout.destroy()
unread.stderr.destroy()
unread.kill()
await once(unread, 'close')
left.unref()
for (const pipe of left.stdio) pipe.unref()
console.log('ended')
`,
  })
  const start = performance.now()
  const made = await retake(['record', 'agent.mjs'])
  expect([made.code, made.stdout], made.stderr).toEqual([0, 'ended\n'])
  expect(performance.now() - start).toBeLessThan(10_000)
  expect((await retake(['replay', 'last'])).stdout).toBe('ended\n')
})
