import { mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { findNode } from '../../scripts/find-node.mjs'
import { run } from '../support/run-retake.mjs'
import { cli, folderWith } from './workspace.js'

const seen: string[] = []
const shop = createServer((request, response) => {
  seen.push(request.headers.authorization ?? '')
  response.setHeader('content-type', 'application/json').end('{"price":5}')
})
beforeAll(async () => {
  await once(shop.listen(0, '127.0.0.1'), 'listening')
})
afterAll(() => shop.close())

/** Made up at run time, so that no scanner finds a key in this file. */
const letters = 'aB3dE6gH9jK2mN5pQ8sT1vW4xY7zC0fR3uI6oL9e'
const key = `sk-${letters}`
const FILES = {
  'agent.mjs': `import { priceOf } from './lib/shop.mjs'
const { price } = await priceOf(process.env.SHOP_URL)
console.log('price', price, Math.random())
`,
  'lib/shop.mjs': `const apiKey = '${key}'
export const priceOf = async (url) =>
  (await fetch(url, { method: 'POST', headers: { authorization: 'Bearer ' + apiKey }, body: apiKey })).json()
`,
  'package.json': '{"name":"shop-agent","version":"1.0.0"}\n',
  'package-lock.json':
    '{"name":"shop-agent","version":"1.0.0","lockfileVersion":3,"requires":true,"packages":{"":{"name":"shop-agent","version":"1.0.0"}}}\n',
}

/** Another version of Node if it is here or can be fetched. */
const otherNode = (): Promise<string> =>
  findNode(process.versions.node.startsWith('20.') ? '22' : '20').catch(() => process.execPath)

test('a branch is exported, and replayed on another machine with another version of Node', async () => {
  const { folder, retake } = await folderWith(FILES)
  const env = { SHOP_URL: `http://127.0.0.1:${(shop.address() as AddressInfo).port}/` }
  expect(await retake(['record', 'agent.mjs'], { env })).toMatchObject({ code: 0 })
  const forked = await retake(['fork', 'last', '--at', '1', '--set', 'price=7'], { env })
  expect(forked).toMatchObject({ code: 0 })
  expect(seen.at(-1)).toBe(`Bearer ${key}`)

  const out = join(folder, '..', 'out.retake')
  const exported = await retake(['export', 'last', '--capsule', out])
  expect(exported).toMatchObject({ code: 0, stderr: '' })
  expect(exported.stdout).toMatch(/2 tapes · 4 source files/)
  expect(exported.stdout).toContain('masked lib/shop.mjs:1')
  expect(exported.stdout).not.toContain(key)
  expect(gunzipSync(readFileSync(out)).includes(key)).toBe(false)
  const report = await retake(['report', 'last', '-o', join(folder, '..', 'report.html')])
  expect(report).toMatchObject({ code: 0 })
  expect(readFileSync(join(folder, '..', 'report.html')).includes(key)).toBe(false)

  // Another machine has neither the folder nor the trusted runs of this one.
  renameSync(folder, `${folder}-gone`)
  const there = join(folder, '..', 'there')
  mkdirSync(there)
  const node = await otherNode()
  const state = { XDG_STATE_HOME: join(folder, '..', 'state') }
  const on = (args: readonly string[], more: Record<string, string> = {}) =>
    run(node, [cli, ...args], there, { env: { ...state, ...more } })
  const imported = await on(['import', out])
  expect(imported).toMatchObject({ code: 0, stderr: '' })
  const [, id = ''] = /imported (\S+)/.exec(imported.stdout) ?? []
  expect(imported.stdout).toContain('masked lib/shop.mjs:1')
  expect(imported.stdout).toContain(`npm ci && retake replay ${id}`)
  expect(
    readdirSync(join(there, '.retake', 'runs')).filter((name) => name.endsWith('.tape')),
  ).toHaveLength(2)
  const npm = await run('npm', ['ci', '--offline', '--no-audit', '--no-fund'], there)
  expect(npm).toMatchObject({ code: 0 })

  const untrusted = await on(['replay', id])
  expect(untrusted.stderr).toContain('RUN_NOT_TRUSTED')
  const supplied = await on(['import', out, '--secret', 'lib/shop.mjs:1=SHOP_KEY'], {
    SHOP_KEY: key,
  })
  expect(supplied).toMatchObject({ code: 0 })
  expect(readFileSync(join(there, 'lib/shop.mjs'), 'utf8')).toBe(FILES['lib/shop.mjs'])
  const asked = seen.length
  const replayed = await on(['replay', id, '--trust'])
  expect(replayed.stderr).toContain('identical')
  expect(replayed).toMatchObject({ code: 0 })
  writeFileSync(join(there, 'agent.mjs'), '// edited\n')
  const recorded = await on(['replay', id, '--trust', '--code', 'recorded'])
  expect(recorded.stderr).toContain('identical')
  expect(seen.length).toBe(asked)
})

test('a value can also be written into the imported file', async () => {
  const { folder, retake } = await folderWith(FILES)
  const env = { SHOP_URL: `http://127.0.0.1:${(shop.address() as AddressInfo).port}/` }
  await retake(['record', 'agent.mjs'], { env })
  const out = join(folder, '..', 'out.retake')
  await retake(['export', 'last', '--capsule', out])
  renameSync(folder, `${folder}-gone`)
  mkdirSync(`${folder}-there`)
  const on = (args: readonly string[]) =>
    run(process.execPath, [cli, ...args], `${folder}-there`, {})
  await on(['import', out])
  const masked = await on(['replay', 'last', '--trust'])
  expect(masked.stderr).toContain('Secrets are masked in lib/shop.mjs: write their values there.')
  const file = join(`${folder}-there`, 'lib/shop.mjs')
  writeFileSync(
    file,
    readFileSync(file, 'utf8').replace(/'.*'/, () => `'${key}'`),
  )
  expect((await on(['replay', 'last', '--trust'])).stderr).toContain('identical')
})

test.each([
  [['export', 'last', '--capsule', 'a.retake', '--format', 'har'], '--capsule cannot be combined'],
  [['import', 'agent.mjs', '--secret', 'agent.mjs:3=KEY'], '--secret needs a capsule'],
  [['import', 'a.retake', '--secret', 'agent.mjs:3=NOT_SET'], 'The variable NOT_SET is not set'],
  [['import', 'a.retake', '--secret', 'agent.mjs'], 'is not a masked line'],
])('retake %s is refused', async (args, text) => {
  const { retake } = await folderWith({ 'agent.mjs': '', 'a.retake': '' })
  const refused = await retake(args)
  expect(refused.stderr).toContain(text)
  expect(refused.code).toBe(2)
})
