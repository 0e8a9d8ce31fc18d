import { once } from 'node:events'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { createServer as createHttpServer } from 'node:http'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { folderWith, tapesOf } from './workspace.js'
import { rewriteTape } from '../support/rewrite-tape.js'
import { soakOnly } from '../support/soak.js'

/** The lines of advice, without their indentation. */
const adviceIn = (text: string): string[] =>
  /^ {2}fix +(.*\n(?: {7}.*\n)*)/m.exec(text)?.[1]?.trim().split(/\n +/) ?? []

test('with unchanged code, the advice names what was not captured before that point', async () => {
  const { retake } = await folderWith({
    'agent.mjs': `import { generateKeySync } from 'node:crypto'
const key = generateKeySync('hmac', { length: 64 })
console.log(key.export().toString('hex'))
generateKeySync('hmac', { length: 128 })
`,
  })
  await retake(['record', 'agent.mjs'])
  const { code, stderr } = await retake(['replay', 'last'])
  expect(code).toBe(3)
  expect(adviceIn(stderr)).toEqual([
    'The code is unchanged, so something is not captured.',
    'Not captured before that: crypto.generateKeySync at agent.mjs:2 — its value differs on replay.',
  ])
})

test('with unchanged code on another Node, the advice is to use the recorded one', async () => {
  const workspace = await folderWith({ 'agent.mjs': 'console.log(process.version)' })
  await workspace.retake(['record', 'agent.mjs'])
  const [tape = ''] = await tapesOf(workspace)
  const old = join(workspace.folder, 'old.tape')
  const body = Buffer.from('v18.0.0\n')
  rewriteTape(tape, old, (entry) => (entry.event.type === 'output' ? { ...entry, body } : entry), {
    node: 'v18.0.0',
  })
  const { code, stderr } = await workspace.retake(['replay', old, '--trust'])
  expect(code).toBe(3)
  expect(adviceIn(stderr)).toEqual([
    `The code is unchanged, but Node is not: recorded with Node v18.0.0, replayed with ${process.version}.`,
    'Replay with Node v18.0.0, or record again:',
    'retake record agent.mjs',
  ])
})

test('with unchanged code, the advice names the secret that is a placeholder', async () => {
  soakOnly()
  const { retake } = await folderWith({
    'agent.mjs': `import { createHmac } from 'node:crypto'
const signature = createHmac('sha256', process.env.SHOP_SECRET).update('x').digest('hex')
await fetch(process.env.AGENT_BASE_URL, { headers: { 'x-check': signature } }).catch(() => {})
`,
  })
  const SHOP_SECRET = 'not-a-real-one-'.repeat(3)
  const env = { SHOP_SECRET, AGENT_BASE_URL: 'http://127.0.0.1:9' }
  await retake(['record', 'agent.mjs'], { env })
  const { code, stderr } = await retake(['replay', 'last'])
  expect(code).toBe(3)
  const advice = adviceIn(stderr)
  expect(advice[0]).toBe('The code is unchanged, so something is not captured.')
  expect(advice[1]).toMatch(/^SHOP_SECRET\b.*: a placeholder in this replay/)
  expect(stderr).not.toContain('Undo the change')
})

test('the advice for a command names what is not recorded and mentions no change', async () => {
  soakOnly()
  const { retake, folder } = await folderWith({
    'agent.mjs': 'console.log(Math.random(), process.argv[2])',
  })
  await retake(['record', '--', process.execPath, 'agent.mjs', 'two words'])
  const advice = [
    'The command behaves differently than when it was recorded.',
    'Not recorded for a command: clock, random values, files, connections outside the proxy.',
    'If the change is intended, record again:',
    `retake record -- ${process.execPath} agent.mjs 'two words'`,
  ]
  const replayed = await retake(['replay', 'last'])
  expect(replayed.code).toBe(3)
  expect(adviceIn(replayed.stderr)).toEqual(advice)
  expect(await retake(['verify', 'last', '--junit', 'report.xml'])).toMatchObject({ code: 3 })
  const report = await readFile(join(folder, 'report.xml'), 'utf8')
  for (const line of advice.slice(0, 3)) expect(report).toContain(line)
})

/** A model server on loopback that answers every request. */
async function modelServer(): Promise<Record<string, string>> {
  const server = createHttpServer((request, response) => {
    request
      .resume()
      .on('end', () => response.setHeader('content-type', 'application/json').end('{}'))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  return {
    OPENAI_BASE_URL: `http://127.0.0.1:${port}/v1`,
    OPENAI_API_KEY: `sk-${'ab12'.repeat(8)}`,
  }
}

test('for a command whose prompt contains a time and a UUID, the advice is the matchers that ignore them, which works', async () => {
  const { retake } = await folderWith({
    'agent.mjs': `import { randomUUID } from 'node:crypto'
const { OPENAI_BASE_URL, OPENAI_API_KEY } = process.env
const content = \`It is \${new Date().toISOString()}, session \${randomUUID()}.\`
const headers = { authorization: \`Bearer \${OPENAI_API_KEY}\`, 'content-type': 'application/json' }
const body = JSON.stringify({ model: 'gpt-4o', messages: [{ role: 'user', content }] })
const answer = await fetch(\`\${OPENAI_BASE_URL}/chat/completions\`, { method: 'POST', headers, body })
console.log(answer.status)
`,
  })
  const env = await modelServer()
  await retake(['record', '--', process.execPath, 'agent.mjs'], { env })
  const replayed = await retake(['replay', 'last'], { env })
  expect(replayed.code).toBe(3)
  const advice = `retake record --matcher dates --matcher uuids -- ${process.execPath} agent.mjs`
  expect(adviceIn(replayed.stderr)).toEqual([
    'The command behaves differently than when it was recorded.',
    'Not recorded for a command: clock, random values, files, connections outside the proxy.',
    'Only dates and uuids differ in this request. To ignore them, record again with:',
    advice,
  ])
  await retake(advice.split(' ').slice(1), { env })
  expect(await retake(['replay', 'last'], { env })).toMatchObject({ code: 0 })
})

test('with another --entry, the advice says that another file ran', async () => {
  const { retake } = await folderWith({
    'agent.mjs': `console.log('hello')`,
    'other.mjs': `console.log('goodbye')`,
  })
  await retake(['record', 'agent.mjs', 'order 1182'])
  const { code, stderr } = await retake(['replay', 'last', '--entry', 'other.mjs'])
  expect(code).toBe(3)
  expect(adviceIn(stderr)).toEqual([
    'other.mjs ran instead of agent.mjs, and behaves differently.',
    'Change other.mjs, or record it:',
    `retake record other.mjs 'order 1182'`,
  ])
})

test('a divergence inside an SDK names the line of your code that made the recorded call', async () => {
  const { retake, folder } = await folderWith({
    'agent.mjs': `import { create } from 'sdk'\nawait create('order 1182')\n`,
    'node_modules/sdk/package.json': '{ "name": "sdk", "type": "module", "main": "index.js" }',
    // The caller awaits a promise that is linked to the call only after it.
    'node_modules/sdk/index.js': `const send = async (content) => {
  await null
  return fetch(process.env.OPENAI_BASE_URL, { method: 'POST', body: content })
}
export const create = (content) => Promise.resolve().then(() => send(content))
`,
  })
  const env = await modelServer()
  await retake(['record', 'agent.mjs'], { env })
  await writeFile(
    join(folder, 'agent.mjs'),
    `import { create } from 'sdk'\nawait create('order 1183')\n`,
  )
  const { code, stderr } = await retake(['replay', 'last'], { env })
  expect(code).toBe(3)
  expect(stderr).toContain('  at   agent.mjs:2:1 when it was recorded')
})

test('with changed code, the advice names the changed files and packages', async () => {
  const { retake, folder } = await folderWith({
    'agent.mjs': `import { word } from './words.mjs'\nimport { shout } from 'shout'\nconsole.log(shout(word))`,
    'words.mjs': `export const word = 'hello'`,
  })
  const library = join(folder, 'node_modules', 'shout')
  await mkdir(library, { recursive: true })
  const release = async (version: string, code: string): Promise<void> => {
    const manifest = { name: 'shout', version, type: 'module', main: 'index.js' }
    await writeFile(join(library, 'package.json'), JSON.stringify(manifest))
    await writeFile(join(library, 'index.js'), code)
  }
  await release('1.0.0', 'export const shout = (text) => text.toUpperCase()')
  await retake(['record', 'agent.mjs', 'order 1182', "it's"])

  await release('2.0.0', `export const shout = (text) => text.toUpperCase() + '!'`)
  const updated = await retake(['replay', 'last'])
  expect(adviceIn(updated.stderr)).toEqual([
    'Changed since the recording: shout 1.0.0 → 2.0.0.',
    'Undo the change, or record again:',
    String.raw`retake record agent.mjs 'order 1182' 'it'\''s'`,
    expect.stringMatching(/^`retake rerun \S+` runs the changed code\.$/) as string,
  ])

  await release('1.0.0', 'export const shout = (text) => text.toUpperCase()')
  await writeFile(join(folder, 'words.mjs'), `export const word = 'goodbye'`)
  const edited = await retake(['replay', 'last'])
  expect(adviceIn(edited.stderr)[0]).toBe('Changed since the recording: words.mjs.')
  // A file that was only saved is not a change.
  await writeFile(join(folder, 'words.mjs'), `export const word = 'hello'`)
  expect((await retake(['replay', 'last', '--step', '1'])).stderr).not.toContain('changed since')
})

test('for a rerun, changes are changes to the code that it ran', async () => {
  const { retake, folder } = await folderWith({
    'agent.mjs': `import { word } from './words.mjs'\nimport fs from 'node:fs'\nfs.writeFileSync('out.txt', word)`,
    'words.mjs': `export const word = 'wrong'`,
  })
  await retake(['record', 'agent.mjs'])
  await writeFile(join(folder, 'words.mjs'), `export const word = 'right'`)
  const rerun = await retake(['rerun', 'last'])
  expect(rerun.stderr).toContain('as a branch of')
  expect((await retake(['replay', 'last'])).code).toBe(0)
  // Back to the code of the parent.
  await writeFile(join(folder, 'words.mjs'), `export const word = 'wrong'`)
  const { code, stderr } = await retake(['replay', 'last'])
  expect(code).toBe(3)
  expect(adviceIn(stderr)[0]).toBe('Changed since the recording: words.mjs.')
})

test('a divergence on a connection names the host and the database', async () => {
  soakOnly()
  /** Greets like PostgreSQL: asks for a password, whatever it is sent. */
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.once('data', () => socket.write(Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 3])))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  const { retake } = await folderWith({
    'agent.mjs': `import net from 'node:net'
import { generateKeySync } from 'node:crypto'
const socket = net.connect(${port}, '127.0.0.1')
socket.write(generateKeySync('hmac', { length: 64 }).export())
socket.once('data', () => socket.destroy())
`,
  })
  const recorded = await retake(['record', 'agent.mjs'])
  expect(recorded.code, recorded.stderr).toBe(0)
  const { code, stderr } = await retake(['replay', 'last'])
  expect(code).toBe(3)
  expect(stderr).toContain(`  What was sent to 127.0.0.1:${port} (postgres) differs\n`)
  expect(stderr).not.toContain('sha256')
})
