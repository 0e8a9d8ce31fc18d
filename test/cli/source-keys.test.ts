import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import type { OpenedSession } from '@retake/web'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startEffectProvider } from '../support/effect-provider.mjs'
import { blocksOf } from '../support/report-blocks.js'
import { AskApi } from '../web/support/ask-api.js'
import { startUi } from '../web/support/start-ui.js'
import { agent as decides, projectWith } from './fix-project.js'
import { folderWith } from './workspace.js'

let provider: Awaited<ReturnType<typeof startEffectProvider>>
beforeAll(async () => {
  provider = await startEffectProvider()
})
afterAll(() => provider.close())

/** Made up at run time, so that no scanner finds a key in this file. */
const letters = 'aB3dE6gH9jK2mN5pQ8sT1vW4xY7zC0fR3uI6oL9e'
const shuffled = (by: number): string => letters.slice(by) + letters.slice(0, by)
/** A key of each kind, in the code before and after somebody changed all of them. */
const keysOf = (by: number) => ({
  openai: `sk-${shuffled(by)}`,
  github: `ghp_${shuffled(by + 3).slice(0, 36)}`,
  token: ['eyJhbGciOiJIUzI1NiJ9', 'eyJzdWIiOiJwbGFudGVkIn0', shuffled(by + 7)].join('.'),
  database: `postgres://app:${shuffled(by + 11).slice(0, 20)}@db.example/main`,
  password: `Open-${shuffled(by + 13).slice(0, 12)}-sesame`,
})
const [before, after] = [keysOf(0), keysOf(17)]

/** The part of each that nobody may see. */
const hidden = [before, after].flatMap(({ database, password, ...keys }) => [
  ...Object.values(keys).map((key) => key.slice(-20)),
  database.slice(15, 35),
  password.slice(5, 17),
])

const SETTINGS = ({ github, token, database, password }: typeof before): string => `// Settings
export const settings = {
  github: '${github}',
  token: '${token}',
  database: '${database}',
  password: '${password}',
}
`
const AGENT = ({
  openai,
}: typeof before): string => `import config from './config.json' with { type: 'json' }
import { settings } from './lib/settings.mjs'
const key = '${openai}', { password } = settings, greeting = config.greeting
const response = await fetch(process.env.AGENT_BASE_URL + '/effect', { method: 'POST', headers: { authorization: 'Bearer ' + key }, body: JSON.stringify({ greeting, password }) })
const { seen } = await response.json()
console.log(greeting, seen.length)
`
const CONFIG = ({ github }: typeof before, greeting: string): string =>
  `{\n  "greeting": "${greeting}",\n  "github": "${github}"\n}\n`

const seenIn = (shown: readonly (readonly [where: string, text: string])[]): string[] =>
  shown.flatMap(([where, text]) =>
    hidden.filter((each) => text.includes(each)).map((each) => `${where}: ${each}`),
  )

test('keys in the code, today and when it was recorded, are in nothing that is shown or sent', async () => {
  const { folder, retake } = await folderWith({
    'agent.mjs': AGENT(before),
    'lib/settings.mjs': SETTINGS(before),
    'config.json': CONFIG(before, 'Dear'),
    'package.json': '{ "name": "desk", "type": "module" }',
  })
  const env = { AGENT_BASE_URL: provider.url }
  const recorded = await retake(['record', 'agent.mjs'], { env })
  expect(recorded.code, recorded.stderr).toBe(0)
  expect((await retake(['debug', 'snapshot', 'last'])).code).toBe(0)
  const write = (name: string, text: string): void => writeFileSync(join(folder, name), text)
  write('agent.mjs', `// Changed\n${AGENT(after)}`)
  write('lib/settings.mjs', SETTINGS(after))
  write('config.json', CONFIG(after, 'Hi'))

  const shown: [where: string, text: string][] = []
  for (const args of [
    ['show', 'last', '--step', '1', '--state'],
    ['show', 'last', '--step', '1', '--state', '--json'],
    ['replay', 'last'],
    ['replay', 'last', '--step', '1'],
    ['replay', 'last', '--step', '1', '--json'],
    ['eval', 'last', '--at', 'agent.mjs:6', '[key, password, settings]', '--json'],
    ['locate', 'last', 'Dear'],
    ['diff', 'last', '--code'],
    ['diff', 'last', '--code', '--full'],
    ['diff', 'last', '--code', '--json'],
    ['verify', 'last', '--json'],
    ['export', 'last', '--jsonl'],
    ['export', 'last', '--format', 'otlp-json', '--content', '-o', '../spans.json'],
    ['export', 'last', '--capsule', '../out.retake'],
    ['report', 'last', '-o', '../report.html'],
  ]) {
    const { stdout, stderr, code } = await retake(args)
    const where = args.join(' ')
    expect([0, 3], `${where}: ${stderr}`).toContain(code)
    shown.push([where, stdout + stderr])
  }
  const stepped = await retake(['debug', 'step', 'last', '--at', '1'], {
    input: 'locals\nprint [key, settings]\nlist\n',
  })
  shown.push(['step', stepped.stdout + stepped.stderr])
  shown.push(['spans', readFileSync(join(folder, '../spans.json'), 'utf8')])
  const capsule = gunzipSync(readFileSync(join(folder, '../out.retake')))
  shown.push(['capsule', capsule.toString('latin1')])
  for (const [id, block] of blocksOf(join(folder, '../report.html')))
    shown.push([`report, ${id}`, block.toString('latin1')])

  const api = new AskApi(await startUi(folder))
  const { run } = JSON.parse((await retake(['diff', 'last', '--code', '--json'])).stdout) as {
    run: string
  }
  const source = await api.get(`/runs/${run}/source?site=agent.mjs:5:1`)
  expect(JSON.stringify(source)).toContain('const key = ')
  const { session } = await api.post<OpenedSession>(`/runs/${run}/sessions`)
  const position = await api.post(`/sessions/${session}/move`, { to: 'step', step: '1' })
  const value = await api.post(`/sessions/${session}/evaluate`, { expression: '[key, settings]' })
  for (const [where, each] of Object.entries({ source, position, value }))
    shown.push([`viewer, ${where}`, JSON.stringify(each)])

  const linesOf = (where: string): string => shown.find(([each]) => each === where)?.[1] ?? ''
  expect(linesOf('diff last --code')).toContain('settings.mjs')
  expect(linesOf('export last --capsule ../out.retake')).toContain('masked agent.mjs:3')
  expect(linesOf('show last --step 1 --state')).toContain('const key = ')
  expect(seenIn(shown)).toEqual([])
})

test('a key beside the fixed line is not in the card of a fix, or in what it gives others', async () => {
  const source = decides.replace(
    '\nconst decision',
    `\nconst apiKey = '${before.openai}'\nconst decision`,
  )
  const { retake, folder, read } = await projectWith(['1', '8'], source)
  expect(read()).toContain(before.openai)
  const files = ['--pull-request', 'pr.md', '--pairs', 'pairs.jsonl']
  const fixed = await retake(
    'fix',
    'last',
    '--no-ai',
    '--oracle',
    'stdout:/RESULT (pay|deny)/',
    ...files,
  )
  expect(fixed.code, fixed.stderr).toBe(0)
  expect(fixed.stdout).toContain('const apiKey = ')
  const shown: [string, string][] = [['card', fixed.stdout + fixed.stderr]]
  for (const file of ['pr.md', 'pairs.jsonl'])
    shown.push([file, readFileSync(join(folder, file), 'utf8')])
  const reported = await retake('report', 'last', '-o', 'report.html')
  expect(reported.code, reported.stderr).toBe(0)
  for (const [id, block] of blocksOf(join(folder, 'report.html')))
    shown.push([`report, ${id}`, block.toString('latin1')])
  expect(seenIn(shown)).toEqual([])
})
