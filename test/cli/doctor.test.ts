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

test('doctor shows why an agent failed', async () => {
  soakOnly()
  const { retake } = await folderWith({ 'agent.mjs': `throw new Error('no key here')` })
  const { stdout } = await retake(['doctor', 'agent.mjs'])
  expect(stdout).toMatch(/^note the agent ended with exit code 1\n[^]+Error: no key here\n/)
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
