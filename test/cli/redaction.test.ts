import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { contentOf } from '../support/redacted-texts.js'
import { linkModules } from '../support/run-library.mjs'
import { run } from '../support/run-retake.mjs'
import { folderWith } from './workspace.js'

const EMAIL = 'ann.lee@mail.example.org'
const NAME = 'Zoë Ångström'
const ORDER = 'ORD-20261117'
const VALUES = [EMAIL, NAME, ORDER]

const AGENT = `
const [, , url, mail] = process.argv
const answer = await (await fetch(url, { method: 'POST', body: JSON.stringify({ mail }) })).json()
const reply = await fetch(url, { method: 'POST', body: JSON.stringify({ to: answer.email, order: '${ORDER}' }) })
await reply.text()
console.log(answer.name, answer.email.split('@')[1].length, mail === answer.email)
`

test('rules of the configuration and the command line hide values before anything is written', async () => {
  const server = createServer((_, response) =>
    response.end(JSON.stringify({ email: EMAIL, name: NAME })),
  ).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await new Promise((resolve) => server.once('listening', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  const { folder, retake } = await folderWith({
    'agent.mjs': AGENT,
    'names.txt': `# customers\n${NAME}\n`,
    'retake.config.mjs':
      'export default { recording: { redact: [(text) => text.match(/ORD-\\d+/g) ?? []] } }',
  })
  const env = { XDG_STATE_HOME: join(folder, 'state'), RETAKE_VAULT_KEY: '' }
  const rules = ['--redact', 'email', '--redact', 'names:names.txt']
  const recorded = await retake(['record', ...rules, 'agent.mjs', url, EMAIL], { env })
  expect(recorded.stdout).toBe(`${NAME} 16 true\n`)
  const { tape } = JSON.parse((await retake(['show', 'last', '--json'], { env })).stdout) as {
    tape?: string
  }
  const file = tape ?? (await retake(['list', '--json'], { env })).stdout
  const path = join(folder, '.retake/runs', `${/\d{8}-\d{6}-\w+/.exec(file)?.[0]}.tape`)
  const text = readFileSync(path, 'utf8')
  for (const value of VALUES) expect(text).not.toContain(value)

  const exact = await retake(['replay', 'last'], { env })
  expect([exact.code, exact.stdout]).toEqual([0, recorded.stdout])
  expect(exact.stderr).toContain('personal data was opened')
  // The program gets its own arguments, so nothing differs and nothing is sent.
  const again = await retake(['rerun', 'last'], { env })
  expect([again.code, again.stdout]).toEqual([0, recorded.stdout])
  expect(again.stderr).toMatch(/nothing was\ssent/)
  const value = await retake(['debug', 'eval', 'last', '--at', 'agent.mjs:6', 'mail'], { env })
  expect([value.code, value.stdout]).toEqual([0, expect.stringContaining(EMAIL)])
  // Captured variables would be readable without the key.
  const states = await retake(['debug', 'snapshot', 'last'], { env })
  expect(states.stderr).toContain('STATES_NOT_HIDDEN')
  expect(existsSync(`${path}.state`)).toBe(false)
  const stranger = { ...env, XDG_STATE_HOME: join(folder, 'elsewhere') }
  const structural = await retake(['replay', 'last', '--trust'], { env: stranger })
  expect([structural.code, structural.stderr]).toEqual([
    0,
    expect.stringMatching(/compares structure[^]*same structure ·/),
  ])
  for (const value of VALUES) expect(structural.stdout).not.toContain(value)
  const refused = await retake(['rerun', 'last', '--trust'], { env: stranger })
  expect(refused.stderr).toContain('REDACTION_NOT_RESTORABLE')

  const restored = await retake(['scrub', '--restore', 'last', '-o', 'originals'], { env })
  expect(restored.code, restored.stderr).toBe(0)
  const original = readFileSync(join(folder, restored.stdout.trim()), 'utf8')
  for (const value of VALUES) expect(original).toContain(value)
  const locked = await retake(['scrub', '--restore', 'last', '-o', 'other'], { env: stranger })
  expect(locked.stderr).toContain('VAULT_KEY_MISSING')
})

test('a rule that cannot be used stops the command before the agent starts', async () => {
  const { folder, retake } = await folderWith({ 'agent.mjs': "console.log('ran')" })
  writeFileSync(join(folder, 'rule.mjs'), 'export default 7')
  for (const [rule, code] of [
    ['names:missing.txt', 'NAMES_UNREADABLE'],
    ['module:rule.mjs', 'REDACT_RULE_UNREADABLE'],
    ['module:missing.mjs', 'REDACT_RULE_UNREADABLE'],
    ['x*', 'REDACT_PATTERN_INVALID'],
  ] as const) {
    const refused = await retake(['record', '--redact', rule, 'agent.mjs'])
    expect(refused.stdout).toBe('')
    expect(refused.stderr).toContain(code)
  }
})

const GUARDED = `
import { guard } from 'retake'
const run = guard({ name: 'desk', resume: true })
const check = run.tool('check', async ({ to }) => 'known: ' + to)
const send = run.tool('send', async ({ to }) => [to, await check({ to })])
console.log(JSON.stringify(await send({ to: '${EMAIL}' })))
if (process.argv[2] === 'stop') process.exit(1)
run.end()
`

const guesses = [
  EMAIL,
  ...['send', 'check'].map((tool) => hashOf(JSON.stringify([tool, { to: EMAIL }]))),
]

/** The hash of a guarded call, if nothing is hidden. */
function hashOf(call: string): string {
  return createHash('sha256').update(call).digest('hex').slice(0, 32)
}

test('a guard hides personal data on its own tape and in recordings, and serves it when resumed', async () => {
  const { folder, retake } = await folderWith({
    'agent.mjs': GUARDED,
    'retake.config.mjs': "export default { recording: { redact: ['email'] } }",
  })
  await linkModules(folder)
  const env = { XDG_STATE_HOME: join(folder, 'state'), RETAKE_VAULT_KEY: '' }
  const stranger = { ...env, XDG_STATE_HOME: join(folder, 'elsewhere') }
  const agent = (mode: string, variables: Record<string, string> = env) =>
    run(process.execPath, ['agent.mjs', mode], folder, { env: variables })
  const output = `["${EMAIL}","known: ${EMAIL}"]\n`

  expect(await agent('stop')).toMatchObject({ code: 1, stdout: output })
  expect((await agent('', stranger)).stderr).toContain('RESUME_KEY_MISSING')
  const resumed = await agent('')
  expect([resumed.code, resumed.stdout], resumed.stderr).toEqual([0, output])
  expect((await retake(['guard', 'audit', 'last'], { env })).stdout).toMatch(/served .* send/)

  const recorded = await retake(['record', 'agent.mjs'], { env })
  expect([recorded.code, recorded.stdout], recorded.stderr).toEqual([0, output])
  const exact = await retake(['replay', 'last'], { env })
  expect([exact.code, exact.stderr]).toEqual([0, expect.stringContaining('identical ·')])
  const structural = await retake(['replay', 'last', '--trust'], { env: stranger })
  expect([structural.code, structural.stderr]).toEqual([
    0,
    expect.stringContaining('same structure ·'),
  ])

  const content = contentOf(join(folder, '.retake'))
  for (const guess of guesses) expect(content).not.toContain(guess)
})

test('a scrubbed copy of a redacted run is the original with vault and key', async () => {
  const { folder, retake } = await folderWith({
    'package.json': '{}',
    'agent.mjs': "console.log('to', process.argv[2], Date.now())",
  })
  const env = { XDG_STATE_HOME: join(folder, 'state') }
  const record = ['record', '--redact', 'email', 'agent.mjs', EMAIL]
  const recorded = await retake(record, { env })
  const scrub = ['scrub', 'last', '-o', 'shared', '--redact', 'email', '--vault']
  const { files, original } = JSON.parse((await retake([...scrub, '--json'], { env })).stdout) as {
    files: [string]
    original: string
  }
  const replayed = await retake(['replay', files[0]], { env })
  expect(replayed.code, replayed.stderr).toBe(0)
  expect(replayed.stdout).toBe(recorded.stdout)
  expect(replayed.stderr).toContain('identical')
  const restored = await retake(['scrub', '--restore', files[0], '-o', 'again', '--json'], { env })
  expect(JSON.parse(restored.stdout)).toMatchObject({ digest: original })
})

test('a scrubbed copy of a run with a guard has no hashes of arguments to guess', async () => {
  const { folder, retake } = await folderWith({ 'agent.mjs': GUARDED })
  await linkModules(folder)
  const env = { XDG_STATE_HOME: join(folder, 'state'), RETAKE_VAULT_KEY: '' }
  await retake(['record', 'agent.mjs'], { env })
  for (const guess of guesses) expect(contentOf(join(folder, '.retake'))).toContain(guess)
  const scrubbed = await retake(['scrub', 'last', '-o', 'shared', '--redact', 'email'], { env })
  expect(scrubbed.code, scrubbed.stderr).toBe(0)
  for (const guess of guesses) expect(contentOf(join(folder, 'shared'))).not.toContain(guess)
  const replayed = await retake(['replay', 'last', '--dir', 'shared', '--trust'], { env })
  expect([replayed.code, replayed.stderr]).toEqual([0, expect.stringContaining('same structure ·')])
})
