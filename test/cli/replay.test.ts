import { once } from 'node:events'
import { rename, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { fastest } from '../support/fastest.js'
import { run } from '../support/run-retake.mjs'
import { startProvider } from '../support/loopback-provider.mjs'
import { folderWith, interrupt, smallAgent } from './workspace.js'
import { soakOnly } from '../support/soak.js'

test('an identical replay prints the same, ends the same and leaves a receipt on stderr', async () => {
  const { retake } = await folderWith({ 'agent.mjs': `${smallAgent}process.exitCode = 6` })
  const recorded = await retake(['record', 'agent.mjs', 'x'])
  const replayed = await retake(['replay', 'last'])
  expect(replayed).toMatchObject({ stdout: recorded.stdout, code: 6 })
  expect(replayed.stderr).toMatch(
    /^identical · (\d+) of \1 events · 1 served · 0 sockets · .* \(recorded .*\)\ndigest [0-9a-f]{64}\n$/,
  )
})

test('a changed prompt stops the replay with the difference, its location and what to do', async () => {
  const provider = await startProvider()
  const agent = (prompt: string): string => `
const response = await fetch('${provider.url}/v1/chat/completions', {
  method: 'POST',
  body: JSON.stringify({ model: 'm', messages: [{ role: 'user', content: ${JSON.stringify(prompt)} }] }),
})
console.log((await response.json()).id)
`
  const { retake, folder } = await folderWith({
    'agent.mjs': agent('Refund the order, but be careful with the money.'),
  })
  await retake(['record', 'agent.mjs'])
  await provider.close()
  const changed = agent('Refund the order, but be generous with the money.')
  await writeFile(join(folder, 'agent.mjs'), changed)
  const { code, stdout, stderr } = await retake(['replay', 'last'])
  expect({ code, stdout }).toEqual({ code: 3, stdout: '' })
  const report = stderr
    .replaceAll(provider.url, 'URL')
    .replace(/event \d+ of \d+/, 'event N of M')
    .replace(/rerun [\w-]+/, 'rerun ID')
    .replace(/replay [\d]{8}-[\w-]+/, 'replay ID')
  expect(report).toBe(`diverged at event N of M · step 1
  POST URL/v1/chat/completions differs in
  body.messages[0].content

  body.messages[0].content
  - "Refund the order, but be careful with the money."
  + "Refund the order, but be generous with the money."

  at   agent.mjs:2:24
  fix  Changed since the recording: agent.mjs.
       Undo the change, or record again:
       retake record agent.mjs
       \`retake rerun ID\` runs the changed code.
       Or run the code of the recording:
       retake replay ID --code recorded
`)
})

test('--observe continues and reports every difference', async () => {
  const { retake, folder } = await folderWith({ 'agent.mjs': `console.log('a'); console.log('b')` })
  await retake(['record', 'agent.mjs'])
  await writeFile(join(folder, 'agent.mjs'), `console.log('x'); console.log('y')`)
  const { code, stdout, stderr } = await retake(['replay', 'last', '--observe'])
  expect({ code, stdout }).toEqual({ code: 3, stdout: 'x\ny\n' })
  expect(stderr.match(/^diverged at/gm)).toHaveLength(2)
})

test('--observe sends no signal to a listener that the recorded program did not have', async () => {
  const source = `setTimeout(() => console.log('late'), 20)`
  const { retake, folder } = await folderWith({ 'agent.mjs': source })
  await retake(['record', 'agent.mjs'])
  const listening = `process.on('SIGINT', () => console.log('interrupted')); ${source}`
  await writeFile(join(folder, 'agent.mjs'), listening)
  const { stdout } = await retake(['replay', 'last', '--observe'])
  expect(stdout).toBe('late\n')
})

test('--pace keeps the recorded pauses', async () => {
  soakOnly()
  const { retake } = await folderWith({
    'agent.mjs': `await new Promise((resolve) => setTimeout(resolve, 1500)); console.log('late')`,
  })
  await retake(['record', 'agent.mjs'])
  const wallMs = async (...flags: string[]): Promise<number> => {
    const { stdout } = await retake(['replay', 'last', '--json', ...flags])
    return (JSON.parse(stdout) as { wallMs: number }).wallMs
  }
  expect(await wallMs('--pace')).toBeGreaterThan(1400)
  expect(await fastest(1400, wallMs)).toBeLessThan(1400)
})

test('--json leaves stdout to the receipt and moves the output of the agent to stderr', async () => {
  const { retake } = await folderWith({ 'agent.mjs': smallAgent })
  const recorded = await retake(['record', 'agent.mjs'])
  const { stdout, stderr } = await retake(['replay', 'last', '--json'])
  expect(JSON.parse(stdout)).toMatchObject({ identical: true, contacts: {}, divergences: [] })
  expect(stderr).toBe(recorded.stdout)
})

test('a missing program or folder is named', async () => {
  soakOnly()
  const inner = `import { mkdirSync } from 'node:fs'\nconsole.log('here')`
  const { retake, folder } = await folderWith({ 'agent.mjs': inner })
  await retake(['record', 'agent.mjs'])
  await rename(join(folder, 'agent.mjs'), join(folder, 'moved.mjs'))
  const withoutFile = await retake(['replay', 'last'])
  expect(withoutFile.code).toBe(1)
  expect(withoutFile.stderr).toContain('The recorded program agent.mjs no longer exists.')
  expect(withoutFile.stderr).toContain('code RECORDED_AGENT_MISSING')

  const other = await folderWith({ 'agent.mjs': inner })
  await other.retake(['record', '--dir', join(folder, 'tapes'), 'agent.mjs'])
  await rm(other.folder, { recursive: true })
  const withoutFolder = await retake(['replay', 'last', '--dir', 'tapes'])
  expect(withoutFolder.code).toBe(1)
  expect(withoutFolder.stderr).toContain(`The folder ${other.folder} no longer exists.`)
})

test('a function recorded by the library cannot be started as a program', async () => {
  const { retake, folder } = await folderWith({})
  const library = new URL('../../packages/cli/dist/index.js', import.meta.url).href
  await writeFile(
    join(folder, 'agent.mjs'),
    `import { record } from '${library}'; await record({ name: 'inner' }, () => Date.now())`,
  )
  expect((await run(process.execPath, ['agent.mjs'], folder)).code).toBe(0)
  const { code, stderr } = await retake(['replay', 'last'])
  expect(code).toBe(1)
  expect(stderr).toContain('code NOT_A_PROCESS_RUN')
})

test.skipIf(!process.allowedNodeEnvironmentFlags.has('--permission'))(
  'with the permission model of Node, a replayed process cannot write, start or connect',
  async () => {
    const { retake } = await folderWith({
      'agent.mjs': `const may = (what) => process.permission?.has(what)
console.log(may('fs.write'), may('child'), may('fs.read'), may('worker'))`,
    })
    const recorded = await retake(['record', 'agent.mjs'])
    expect(recorded.stdout).toBe('undefined undefined undefined undefined\n')
    const { stdout, stderr } = await retake(['replay', 'last', '--observe'])
    expect(stdout).toBe('false false true true\n')
    expect(stderr).not.toContain('Warning')
  },
)

test('Ctrl-C during a replay ends it quietly with 130', async () => {
  soakOnly()
  const { retake, folder } = await folderWith({
    'agent.mjs': `console.log('ready'); await new Promise((resolve) => setTimeout(resolve, 2000))`,
  })
  await retake(['record', 'agent.mjs'])
  const finished = await interrupt(folder, ['replay', 'last', '--pace'], (pid) =>
    process.kill(-pid, 'SIGINT'),
  )
  expect(finished).toMatchObject({ code: 130, stdout: 'ready\n', stderr: '' })
})

test('a truncated recording names the steps in doubt', async () => {
  const silent = createServer(() => {})
  silent.listen(0, '127.0.0.1')
  await once(silent, 'listening')
  const { port } = silent.address() as AddressInfo
  const { retake } = await folderWith({
    'agent.mjs': `console.log('asking')
void fetch('http://127.0.0.1:${port}/pay', { method: 'POST', body: '{}' })
setTimeout(() => process.kill(process.pid, 'SIGKILL'), 200)`,
  })
  expect((await retake(['record', 'agent.mjs'])).code).toBe(137)
  silent.closeAllConnections()
  silent.close()
  const { code, stdout, stderr } = await retake(['replay', 'last'])
  expect({ code, stdout }).toEqual({ code: 3, stdout: 'asking\n' })
  expect(stderr).toMatch(
    /^identical · .*\ncut off · the end is missing: the run was killed, or its tape was cut; /,
  )
  expect(stderr).toMatch(/^ {2}in doubt: step 1 POST http:\/\/127\.0\.0\.1:\d+\/pay /m)
})
