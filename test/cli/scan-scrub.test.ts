import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { folderWith, smallAgent, tapesOf } from './workspace.js'

/** Made up at run time, so that no scanner finds a key in this file. */
const letters = 'aB3dE6gH9jK2mN5pQ8sT1vW4xY7zC0fR3uI6oL9e'

test('the salts of a signed run are not secrets', async () => {
  const { retake } = await folderWith({
    'agent.mjs': `for (let i = 0; i < 9; i++) console.log('x'.repeat(600), Date.now())`,
  })
  const recorded = await retake(['record', '--sign', 'agent.mjs'])
  expect(recorded.code, recorded.stderr).toBe(0)
  const scanned = await retake(['scrub', '--check', 'last'])
  expect(scanned.code, scanned.stdout).toBe(0)
  const scrubbed = await retake(['scrub', 'last', '-o', 'shared'])
  expect(scrubbed.code, scrubbed.stderr).toBe(0)
})

test('a damaged tape is named, and the exit code is not that of a clean one', async () => {
  const workspace = await folderWith({ 'agent.mjs': smallAgent })
  await workspace.retake(['record', 'agent.mjs'])
  const [tape = ''] = await tapesOf(workspace)
  const bytes = readFileSync(tape)
  await writeFile(tape, bytes.subarray(0, bytes.indexOf('"type":"seal"')))
  const scanned = await workspace.retake(['scrub', '--check', tape, '--sarif', 'secrets.sarif'])
  expect(scanned.code).toBe(3)
  expect(scanned.stderr).toMatch(/warning: .*\.tape: It could not be read completely/)
  expect(scanned.stderr).toContain('0 findings in 1 file')
  const json = await workspace.retake(['scrub', '--check', tape, '--json'])
  expect(JSON.parse(json.stdout)).toMatchObject({ findings: [], incomplete: [{ file: tape }] })
  const sarif: unknown = JSON.parse(readFileSync(join(workspace.folder, 'secrets.sarif'), 'utf8'))
  expect(sarif).toMatchObject({ runs: [{ invocations: [{ executionSuccessful: false }] }] })
})

test('a run with a secret is found, not passed on, and scrubbed into a copy that replays', async () => {
  const engine = JSON.stringify(import.meta.resolve('@retake/engine/hook'))
  const { folder, retake } = await folderWith({
    'package.json': '{}',
    // Records like a version that does not know this key.
    'recorder.mjs': `
import { SecretMask } from ${engine}
SecretMask.prototype.body = (event, bytes) => bytes
`,
    'agent.mjs': `
import './recorder.mjs'
console.log('the key is', 'sk-' + '${letters}'.slice(0), Date.now())
`,
  })
  const recorded = await retake(['record', 'agent.mjs'])
  expect(recorded.code, recorded.stderr).toBe(0)

  const scanned = await retake(['scrub', '--check', 'last', '--sarif', 'secrets.sarif'])
  expect(scanned.code, scanned.stderr).toBe(3)
  expect(scanned.stdout).toMatch(/\.tape: event \d+, output body: a credential of a known shape/)
  expect(scanned.stdout + scanned.stderr).not.toContain(letters)
  const sarif = readFileSync(join(folder, 'secrets.sarif'), 'utf8')
  expect(sarif).not.toContain(letters)
  expect(JSON.parse(sarif)).toMatchObject({
    version: '2.1.0',
    runs: [{ tool: { driver: { name: 'retake' } }, results: [{ ruleId: 'key' }] }],
  })
  for (const verb of [
    ['report', 'last', '-o', 'a.html'],
    ['export', 'last', '--jsonl'],
    ['test', 'last', '--out', 'tests/agent.test.mjs'],
  ]) {
    const refused = await retake(verb)
    expect(refused.code, verb[0]).toBe(1)
    expect(refused.stderr).toContain('SECRETS_FOUND')
    expect(refused.stdout).toBe('')
    const allowed = await retake([...verb, '--allow-secrets'])
    expect(allowed.code, allowed.stderr).toBe(0)
  }

  const scrubbed = await retake(['scrub', 'last', '--json'])
  expect(scrubbed.code, scrubbed.stderr).toBe(0)
  const { original, digest } = JSON.parse(scrubbed.stdout) as Record<string, string>
  expect(digest).not.toBe(original)
  expect((await retake(['scrub', '--check', 'scrubbed'])).code).toBe(0)
  await writeFile(join(folder, 'recorder.mjs'), '')
  const replayed = await retake(['replay', 'last', '--dir', 'scrubbed', '--trust'])
  expect(replayed.code, replayed.stderr).toBe(0)
  expect((await retake(['scrub', 'last'])).stderr).toContain('SCRUB_WOULD_OVERWRITE')
})

test('what is possibly a secret is listed, and the exit code stays 0', async () => {
  const { folder, retake } = await folderWith({
    'agent.mjs': `console.log('the key that Ann gave me was', '${letters.slice(0, 14).toLowerCase()}')`,
  })
  await retake(['record', 'agent.mjs'])
  const scanned = await retake(['scrub', '--check', 'last', '--sarif', 'secrets.sarif'])
  expect(scanned.code, scanned.stderr).toBe(0)
  expect(scanned.stdout).toMatch(/event \d+, output body: possibly a secret/)
  expect(scanned.stdout).not.toContain(letters.slice(0, 14).toLowerCase())
  expect(scanned.stderr).toContain('0 findings, and 1 possible in 1 file')
  expect(JSON.parse(readFileSync(join(folder, 'secrets.sarif'), 'utf8'))).toMatchObject({
    runs: [{ results: [{ ruleId: 'possible', level: 'warning' }] }],
  })
})
