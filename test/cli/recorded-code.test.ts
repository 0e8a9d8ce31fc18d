import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startEffectProvider } from '../support/effect-provider.mjs'
import { folderWith } from './workspace.js'

let provider: Awaited<ReturnType<typeof startEffectProvider>>
beforeAll(async () => {
  provider = await startEffectProvider()
})
afterAll(() => provider.close())

const KEY = 'aB3dE6gH9jK2mN5pQ8sT1vW4'
const LIBRARY = `export const polite = (name) => 'Dear ' + name\n`
const AGENT = `import { polite } from './lib.mjs'
const apiKey = 'sk-${KEY}'; const response = await fetch(process.env.AGENT_BASE_URL + '/effect', { method: 'POST', body: polite('Ann') })
const { seen } = await response.json()
console.log(seen)
`
const NOTE = '1 file changed since this run; showing the recorded code\n'

async function recorded() {
  const workspace = await folderWith({ 'agent.mjs': AGENT, 'lib.mjs': LIBRARY })
  await workspace.retake(['record', 'agent.mjs'], { env: { AGENT_BASE_URL: provider.url } })
  return workspace
}

test("verify checks today's code and names what changed, and offers the recorded code", async () => {
  const { folder, retake } = await recorded()
  const unchanged = await retake(['verify', 'last', '--code', 'recorded'])
  expect(unchanged.stderr).toBe('1 intact, 1 replayed identically\n')

  writeFileSync(join(folder, 'lib.mjs'), LIBRARY.replace('Dear', 'Hi'))
  const today = await retake(['verify', 'last', '--json'])
  expect(JSON.parse(today.stdout)).toMatchObject({ replay: 'diverged', changedCode: ['lib.mjs'] })
  expect(today.code).toBe(3)
  const { stderr, code } = await retake(['verify', 'last', '--code', 'recorded'])
  expect(stderr).toMatch(
    /^\S+: code: as recorded; changed since: lib\.mjs\n1 intact, 1 replayed identically\n$/,
  )
  expect(code).toBe(0)

  rmSync(join(folder, '.retake', 'sources'), { recursive: true })
  const lost = await retake(['verify', 'last', '--code', 'recorded', '--json'])
  expect(JSON.parse(lost.stdout)).toMatchObject({ replay: 'failed', ok: false })
  const wrong = await retake(['verify', 'last', '--code', 'recorded', '--integrity-only'])
  expect(wrong.code).toBe(2)
})

test('a captured state is shown with its recorded lines', async () => {
  const { folder, retake } = await recorded()
  await retake(['debug', 'snapshot', 'last'])
  writeFileSync(join(folder, 'agent.mjs'), `// new\n${AGENT}`)
  const { stdout } = await retake(['show', 'last', '--step', '1', '--state'])
  expect(stdout).toMatch(
    /agent\.mjs:3:\d+\nthe file has changed since; showing the recorded code\n.*\n.*\n> 3 {2}const/,
  )
  expect(stdout).toContain('  4  console.log(seen)')
  expect(stdout).not.toContain(KEY)
})

test('locations and reports show the recorded lines, without keys', async () => {
  const { folder, retake } = await recorded()
  const before = await retake(['locate', 'last', 'Dear Ann'])
  expect(before.stdout).not.toContain('const apiKey')
  expect(before.stderr).toBe('')

  writeFileSync(join(folder, 'agent.mjs'), `// new\n${AGENT}`)
  const located = await retake(['locate', 'last', 'Dear Ann'])
  expect(located.stdout).toMatch(/agent\.mjs:2:\d+\n +const apiKey = 'sk-retake-hidden/)
  expect(located.stdout).not.toContain(KEY)
  expect(located.stderr).toContain(NOTE)
  const report = await retake(['report', 'last', '-o', 'report.html', '--allow-secrets'])
  expect(report.stderr).toContain(NOTE)
})
