import { readdir } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { folderWith } from './workspace.js'
import { hasSandbox } from '../support/has-sandbox.js'
import { soakOnly } from '../support/soak.js'

test('doctor names every captured source with file and line and proves the replay', async () => {
  const { retake, folder } = await folderWith({
    'agent.mjs': `import { randomUUID } from 'node:crypto'
console.log(Date.now())
console.log(Math.random(), Math.random())
console.log(randomUUID())
setTimeout(() => {}, 3)
`,
  })
  const { stdout, code } = await retake(['doctor', 'agent.mjs'])
  expect(stdout).toMatch(/^ {2}Date\.now +1 +yes +agent\.mjs:2$/m)
  expect(stdout).toMatch(/^ {2}Math\.random +2 +yes +agent\.mjs:3$/m)
  expect(stdout).toMatch(/^ {2}crypto\.randomUUID +1 +yes +agent\.mjs:4$/m)
  expect(stdout).toMatch(/^ {2}timeout +1 +no +agent\.mjs:5$/m)
  expect(stdout).toContain('not captured: nothing found')
  expect(stdout).toMatch(/^ {2}identical · /m)
  expect(code).toBe(0)
  expect(await readdir(folder)).toEqual(['agent.mjs'])
})

test('doctor finds what is not captured and says what to do', async () => {
  const { retake } = await folderWith({
    'agent.mjs': `import { generateKeyPairSync } from 'node:crypto'
generateKeyPairSync('ed25519')
`,
  })
  const { stdout, code } = await retake(['doctor', 'agent.mjs'])
  expect(code).toBe(3)
  expect(stdout).toContain('not captured: 1 finding')
  expect(stdout).toMatch(
    /^ {2}crypto\.generateKeyPairSync at agent\.mjs:2 — its value differs on replay$/m,
  )
  expect(stdout).toMatch(/^ {4}its result is random/m)
  const json = await retake(['doctor', '--json', 'agent.mjs'])
  expect(JSON.parse(json.stdout)).toMatchObject({
    identical: true,
    notCaptured: [{ what: 'crypto.generateKeyPairSync' }],
  })
})

test('doctor proves it when an uncaptured source changes what the agent does', async () => {
  soakOnly()
  const { retake } = await folderWith({
    'agent.mjs': `import { generateKeyPairSync } from 'node:crypto'
const { publicKey } = generateKeyPairSync('ed25519', { publicKeyEncoding: { type: 'spki', format: 'pem' }, privateKeyEncoding: { type: 'pkcs8', format: 'pem' } })
console.log(publicKey)
`,
  })
  const { stdout, code } = await retake(['doctor', 'agent.mjs'])
  expect(code).toBe(3)
  expect(stdout).toMatch(/^ {2}diverged at event \d+/m)
})

test('doctor shows why an agent failed, without its stack', async () => {
  soakOnly()
  const { retake } = await folderWith({ 'agent.mjs': `throw new Error('no key here')` })
  const { stdout } = await retake(['doctor', 'agent.mjs'])
  expect(stdout).toMatch(/^note the agent ended with exit code 1\n {2}Error: no key here\n\n/)
  expect(stdout).toContain('not captured: nothing found before the exception')
})

test('doctor names the variable that an agent misses, in one error', async () => {
  const { retake } = await folderWith({
    'agent.mjs': "await fetch(`${process.env['MODEL_ADDRESS']}/v1/chat/completions`)\n",
    'named.mjs': `const name = 'SHOP_' + 'NAME'
Date.now()
if (!process.env[name]) throw new Error(name + ' is not set')
`,
    'other.mjs': `process.env['NOTE_COLOR']
setTimeout(() => { throw new Error('out of paper') }, 1)
`,
  })
  const refused = await retake(['doctor', 'agent.mjs'])
  expect(refused).toMatchObject({ code: 1, stdout: '' })
  expect(refused.stderr)
    .toBe(`error  agent.mjs threw an exception: TypeError: Failed to parse URL from undefined/v1/chat/completions
  why  Before that it read MODEL_ADDRESS from its environment, which is not set.
  fix  Set MODEL_ADDRESS if it needs it, and run \`retake doctor agent.mjs\` again.
  code AGENT_VARIABLE_MISSING
`)
  expect((await retake(['doctor', 'named.mjs'])).stderr).toContain('it read SHOP_NAME from')
  // It did something after it had read the variable, so nothing speaks for the variable.
  const other = await retake(['doctor', 'other.mjs'])
  expect(other).toMatchObject({ code: 0, stderr: '' })
  expect(other.stdout).toMatch(/^note the agent ended[^]*\n {2}Error: out of paper\n\ncaptured/)
})

test('doctor says whether guarded tools can be sandboxed, and how to get there', async () => {
  const { retake } = await folderWith({ 'agent.mjs': 'console.log(1)\n' })
  const off = await retake(['doctor', 'agent.mjs'], { env: { RETAKE_SANDBOX: 'off' } })
  expect(off.stdout).toMatch(/^sandbox: missing, RETAKE_SANDBOX=off turns it off$/m)
  expect(off.stdout).toMatch(/^ {2}(?:Install bubblewrap|Run guarded tools)/m)
  expect(off.code).toBe(0)
  const { stdout } = await retake(['doctor', '--json', 'agent.mjs'])
  const { sandbox } = JSON.parse(stdout) as { sandbox: { works: boolean } }
  expect(sandbox.works).toBe(hasSandbox)
})
