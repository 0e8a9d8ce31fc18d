import { generateKeyPairSync } from 'node:crypto'
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { cp, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { openTape } from '@retake/tape/node'
import { beforeAll, afterAll, expect, test } from 'vitest'
import { agentPath, makeWorkspace, type Workspace } from '../support/run-retake.mjs'
import { folderWith, smallAgent, tapesOf } from './workspace.js'

const agent = agentPath('guarded-refund.mjs')
let workspace: Workspace
let receipt = ''
beforeAll(async () => {
  workspace = await makeWorkspace()
  await workspace.retake(['record', '--sign', agent])
  receipt = join(workspace.folder, 'refund.receipt.json')
  await workspace.retake(['receipt', 'make', 'last', '--steps', '2', '--out', receipt])
})
afterAll(() => workspace.remove())

test('a receipt proves the call, the rule and the approval of a step, and contains nothing else', async () => {
  const checked = await workspace.retake(['receipt', 'check', receipt])
  expect(checked.code).toBe(0)
  expect(checked.stdout).toMatch(/^valid · run \S+ \(guarded-refund\) · shows 4 of 18 events$/m)
  expect(checked.stdout).toMatch(/sealed {4}by \S{44}, this machine$/m)
  expect(checked.stdout).toMatch(/^step 2 · event \d+ · \S+Z · tool refund$/m)
  expect(checked.stdout).toContain('call      {"order":7,"amount":250}\n')
  expect(checked.stdout).toContain('rule      refunds/large: ask\n')
  expect(checked.stdout).toMatch(/approved {2}by anna \(callback\)/)
  expect(readFileSync(receipt, 'utf8')).not.toContain('PRIVATE')
  expect((await workspace.retake(['replay', 'last'])).code).toBe(0)
})

test('a receipt is checked against a key and a tape that the reader has', async () => {
  const check = async (...args: string[]) =>
    workspace.retake(['receipt', 'check', receipt, ...args])
  expect((await check('--key', 'seal', '--tape', 'last')).code).toBe(0)
  const other = generateKeyPairSync('ed25519').publicKey
  const pem = join(workspace.folder, 'other.pem')
  writeFileSync(pem, other.export({ type: 'spki', format: 'pem' }))
  expect(await check('--key', pem)).toMatchObject({
    code: 3,
    stdout: 'not valid: its seal is not signed with the given key\n',
  })
  await workspace.retake(['receipt', 'keys', 'trust', 'auditor', pem])
  expect((await workspace.retake(['receipt', 'keys'])).stdout).toMatch(
    /^auditor +trusted +\S{44}$/m,
  )
  expect((await check('--key', 'auditor')).code).toBe(3)
  await workspace.retake(['receipt', 'keys', 'forget', 'auditor'])
  expect((await check('--key', 'auditor')).stderr).toContain('KEY_NOT_FOUND')
  const changed = join(workspace.folder, 'changed.json')
  writeFileSync(changed, readFileSync(receipt, 'utf8').replace('250', '999'))
  const found = await workspace.retake(['receipt', 'check', changed, '--json'])
  expect(found.code).toBe(3)
  expect(JSON.parse(found.stdout)).toMatchObject({ ok: false, calls: [] })
})

test('without --sign, a receipt says what else it would show, and that the seal is not signed', async () => {
  const { retake, folder } = await folderWith({})
  await retake(['record', agent])
  const refused = await retake(['receipt', 'make', 'last', '--steps', '2'])
  expect(refused).toMatchObject({ code: 1, stdout: '' })
  expect(refused.stderr).toMatch(/RECEIPT_SHOWS_NEIGHBORS/)
  expect(refused.stderr).toMatch(/timer \d+, deliver \d+, output \d+/)
  const made = await retake(['receipt', 'make', 'last', '--steps', '2', '--allow-neighbors'])
  writeFileSync(join(folder, 'r.json'), made.stdout)
  const checked = await retake(['receipt', 'check', 'r.json'])
  expect(checked.stdout).toContain('sealed    not signed: compare the digest')
})

test('the configuration signs every recording, also branches, commands and stopped programs', async () => {
  const { retake, folder } = await folderWith({
    'retake.config.json': '{ "seal": { "sign": true } }',
    'agent.mjs': smallAgent,
    'stopped.mjs': `setTimeout(() => process.kill(process.pid, 'SIGTERM'), 50); setTimeout(() => {}, 60_000)`,
  })
  await retake(['record', 'agent.mjs'])
  await retake(['fork', 'last', '--at', 'e1', '--set', 'value=2'])
  await retake(['record', 'stopped.mjs'])
  await retake(['record', '--', process.execPath, '-e', 'console.log(1)'])
  const tapes = await tapesOf({ ...workspace, folder })
  expect(tapes).toHaveLength(4)
  for (const tape of tapes)
    expect(openTape(tape).verify()).toMatchObject({ ok: true, signature: 'valid' })
})

test('keys are created with mode 0600, replaced on request, imported and exported', async () => {
  const { retake, folder } = await folderWith({})
  const state = { env: { XDG_STATE_HOME: join(folder, 'state') } }
  expect((await retake(['receipt', 'keys'], state)).stderr).toContain('no keys yet')
  await retake(['receipt', 'keys', 'new'], state)
  const file = join(folder, 'state', 'retake', 'seal-key.pem')
  expect((await stat(file)).mode & 0o777).toBe(0o600)
  const first = (await retake(['receipt', 'keys', '--json'], state)).stdout
  expect((await retake(['receipt', 'keys', 'new'], state)).stderr).toContain('KEY_EXISTS')
  await cp(file, join(folder, 'first.pem'))
  await retake(['receipt', 'keys', 'new', '--replace'], state)
  const both = (await retake(['receipt', 'keys'], state)).stdout
  expect(both).toMatch(/this machine until \S+ +trusted/)
  expect(both).toContain((JSON.parse(first) as { key: string }).key)
  expect((await retake(['receipt', 'keys', 'export', 'seal'], state)).stdout).toMatch(
    /BEGIN PUBLIC KEY/,
  )
  await retake(['receipt', 'keys', 'import', 'first.pem', '--replace'], state)
  expect((await retake(['receipt', 'keys', '--json'], state)).stdout.split('\n')[0]).toBe(
    first.trim(),
  )
  writeFileSync(file, 'not a key')
  for (const args of [
    ['receipt', 'keys'],
    ['record', '--sign', 'agent.mjs'],
  ])
    expect((await retake(args, state)).stderr).toContain('SIGNING_KEY_UNREADABLE')
})

test('a manifest shows tapes that were replaced, are missing or are new', async () => {
  const { retake, folder } = await folderWith({ 'agent.mjs': smallAgent })
  const tapes = join(folder, 'tapes')
  for (const name of ['a', 'b'])
    await retake(['record', '--out', `tapes/${name}.tape`, 'agent.mjs'])
  const verify = async (...args: string[]) =>
    retake(['verify', 'tapes', '--integrity-only', '--json', ...args])
  expect((await verify('--write-manifest', 'digests.json')).code).toBe(0)
  expect((await verify('--manifest', 'digests.json')).code).toBe(0)
  const details = async (): Promise<string[]> => {
    const { code, stdout } = await verify('--manifest', 'digests.json')
    expect(code).toBe(3)
    return stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { ok: boolean; detail: string })
      .flatMap(({ ok, detail }) => (ok ? [] : [detail.replace(/[\da-f]{64}/, '…')]))
  }
  renameSync(join(tapes, 'a.tape'), join(tapes, 'c.tape'))
  expect(await details()).toEqual(['not in the manifest', 'in the manifest, but not in the folder'])
  rmSync(join(tapes, 'c.tape'))
  await retake(['record', '--out', 'tapes/a.tape', 'agent.mjs'])
  expect(await details()).toEqual(['not the run in the manifest, which has digest …'])
  expect((await retake(['verify', 'tapes', '--manifest', 'agent.mjs'])).stderr).toContain(
    'MANIFEST_UNREADABLE',
  )
})
