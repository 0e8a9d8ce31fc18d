/** Scrubbed copies with pseudonyms, and the vaults that make them the original again. */
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { startModelServer } from '@retake/engine/testing'
import { openTape } from '@retake/tape/node'
import { describe, expect, test } from 'vitest'
import { scenes } from '../sdks/scenes.js'
import { createShopModel } from '../sdks/shop-model.mjs'
import type { Workspace } from '../support/run-retake.mjs'
import { isSoak, sampled, soakOnly } from '../support/soak.js'
import { folderWith, tapesOf } from './workspace.js'

const customer = {
  name: 'Zoë',
  email: 'ann.lee@mail.example.org',
  phone: '+49 30 901820',
  card: '4111 1111 1111 1111',
  iban: 'DE89 3704 0044 0532 0130 00',
}
const RULES = ['email', 'phone', 'card', 'iban'].flatMap((rule) => ['--redact', rule])
const SCRUB = ['-o', 'shared', ...RULES, '--names', 'names.txt']

/** A run of an SDK that sends the customer to a model, which repeats everything in pieces. */
async function recordedRun(sdk: string) {
  const workspace = await folderWith({
    'customer.json': JSON.stringify(customer),
    'names.txt': `# customers\n${customer.name}\n`,
  })
  const state = { XDG_STATE_HOME: join(workspace.folder, 'state') }
  const model = await startModelServer({ answer: createShopModel() })
  const provider = { url: model.url, h2Url: model.url }
  const agent = '../sdks/agents/customers.mjs'
  const recorded = await workspace.record(agent, { provider, args: [sdk], env: state })
  await model.stop()
  expect(recorded.code, recorded.stderr).toBe(0)
  expect(recorded.stdout).toContain('repeats the address: true')
  const [original = ''] = await tapesOf(workspace)
  return { ...workspace, state, recorded, original, copy: copyIn(workspace, original) }
}

const copyIn = ({ folder }: Workspace, original: string): string =>
  join(folder, 'shared', original.split('/').at(-1) ?? '')

/** Everything that a tape contains, in one text. */
function contentOf(file: string): string {
  const tape = openTape(file)
  const events = [...tape.events()].map((event) => [
    JSON.stringify(event),
    event.type === 'seal' ? '' : Buffer.from(tape.body(event.seq)).toString(),
  ])
  return [JSON.stringify(tape.details), ...events.flat()].join('\n')
}

const sdks = sampled(['openai', 'anthropic', 'ai'], (sdk) => sdk === 'ai')

describe.each(sdks)('a scrubbed copy of a run of %s', (sdk) => {
  test('is the original with the key, and replays with pseudonyms without it', async () => {
    const run = await recordedRun(sdk)
    const { state: env, copy } = run
    const scrubbed = await run.retake(['scrub', 'last', ...SCRUB, '--vault'], { env })
    expect(scrubbed.code, scrubbed.stderr).toBe(0)
    expect(scrubbed.stderr).toContain('Pseudonyms: ')
    expect(scrubbed.stderr).not.toContain('Blanked')

    // Nothing of the values is left, in any form.
    const values = Object.values(customer)
    const content = contentOf(copy)
    const vault = readFileSync(copy.replace('.tape', '.vault'), 'latin1')
    for (const value of [...values, 'ann.lee', '901820', encodeURIComponent(customer.email)]) {
      expect(content).not.toContain(value)
      expect(vault).not.toContain(value)
    }
    const decoded = Array.from(content.matchAll(/[A-Za-z0-9+/]{40,}/g), ([base64]) =>
      Buffer.from(base64, 'base64').toString(),
    ).join('\n')
    for (const value of values) expect(decoded).not.toContain(value)

    // With the key.
    const exact = await run.replay({ run: copy, env })
    expect(exact.code, exact.stderr).toBe(0)
    expect(exact.stdout).toBe(run.recorded.stdout)
    expect(exact.stderr).toContain('the vault was opened')
    expect(exact.waysOut).toEqual({})
    const verified = await run.retake(['verify', copy], { env })
    expect(verified.code, verified.stdout + verified.stderr).toBe(0)
    const restored = await run.retake(['scrub', '--restore', copy, '-o', 'again'], { env })
    expect(restored.code, restored.stderr).toBe(0)
    const again = join(run.folder, 'again', copy.split('/').at(-1) ?? '')
    expect(readFileSync(again).equals(readFileSync(run.original))).toBe(true)

    // Without it.
    const other = { XDG_STATE_HOME: join(run.folder, 'other-state') }
    const structural = await run.retake(['replay', copy, '--trust'], { env: other })
    expect(structural.code, structural.stderr).toBe(0)
    expect(structural.stderr).toMatch(/no key [\da-f]{16}: the program gets pseudonyms/)
    expect(structural.stderr).toContain('same structure ·')
    expect(structural.stderr).not.toContain('identical')
    expect(structural.stdout).toContain('repeats the address: true')
    for (const value of values) expect(structural.stdout).not.toContain(value)
  })
})

const local = scenes.filter(({ mcpServer }) => mcpServer === undefined)
test.each(sampled(local, () => false).map((scene) => [scene.title, scene] as const))(
  'every SDK: the copy of a run of %s is the original with the key',
  async (_, { agent, args = [] }) => {
    const workspace = await folderWith({})
    const env = { XDG_STATE_HOME: join(workspace.folder, 'state'), NODE_ENV: 'production' }
    const model = await startModelServer({ answer: createShopModel() })
    const recorded = await workspace.record(`../sdks/agents/${agent}`, {
      provider: { url: model.url, h2Url: model.url },
      args,
      env: { ...env, AWS_ACCESS_KEY_ID: 'none', AWS_SECRET_ACCESS_KEY: 'none' },
    })
    await model.stop()
    expect(recorded.code, recorded.stderr).toBe(0)
    const scrub = ['scrub', 'last', '-o', 'shared', '--redact', '1182', '--content', '--vault']
    const scrubbed = await workspace.retake(scrub, { env })
    expect(scrubbed.code, scrubbed.stderr).toBe(0)
    const [original = ''] = await tapesOf(workspace)
    const copy = copyIn(workspace, original)
    expect(contentOf(copy)).not.toMatch(/Where is order|left the house/)
    const exact = await workspace.replay({ run: copy, env })
    expect(exact.stdout).toBe(recorded.stdout)
    expect(exact.code, exact.stderr).toBe(0)
    expect(exact.waysOut).toEqual({})
  },
)

test('with --content no message is left, and the vault has them all', async () => {
  const run = await recordedRun('openai')
  const { state: env, copy } = run
  const scrub = ['scrub', 'last', '-o', 'shared', '--content', ...RULES, '--vault']
  const scrubbed = await run.retake(scrub, { env })
  expect(scrubbed.code, scrubbed.stderr).toBe(0)
  expect(scrubbed.stderr).not.toContain('Blanked')
  const content = contentOf(copy)
  for (const said of ['Greet', 'You said', 'Paid by', 'repeats', customer.email, customer.card])
    expect(content).not.toContain(said)
  const shown = await run.retake(['show', copy, '--json'], { env })
  expect(shown.code, shown.stderr).toBe(0)
  expect(JSON.parse(shown.stdout)).toMatchObject({ steps: [{ kind: 'model', state: 'done' }] })
  const exact = await run.replay({ run: copy, env })
  expect(exact.stdout).toBe(run.recorded.stdout)
  expect(exact.code, exact.stderr).toBe(0)
})

test('the same value has the same pseudonym in all runs of a key, and another with another key', async () => {
  soakOnly()
  const agent = `
import { readFileSync } from 'node:fs'
console.log(readFileSync('customer.json', 'utf8'))
`
  const files = { 'agent.mjs': agent, 'customer.json': JSON.stringify(customer) }
  const { folder, retake } = await folderWith(files)
  const key = (seed: string) => ({ RETAKE_VAULT_KEY: Buffer.alloc(32, seed).toString('base64') })
  const replayed = async (output: string, seed: string): Promise<string> => {
    expect((await retake(['record', 'agent.mjs'])).code).toBe(0)
    const scrubbed = await retake(['scrub', 'last', '-o', output, ...RULES], { env: key(seed) })
    expect(scrubbed.code, scrubbed.stderr).toBe(0)
    const [copy = ''] = readdirSync(join(folder, output))
    const { stdout } = await retake(['replay', join(output, copy), '--trust'])
    return stdout
  }
  const [one, two, other] = [
    await replayed('one', 'a'),
    await replayed('two', 'a'),
    await replayed('other', 'b'),
  ]
  expect(two).toBe(one)
  expect(other).not.toBe(one)
  const hidden = JSON.parse(one) as typeof customer
  expect(hidden.email).toMatch(/^[a-z]{3}\.[a-z]{3}@[a-z]{4}\.[a-z]{7}\.[a-z]{3}$/)
  expect(hidden.card).toMatch(/^4\d{3} \d{4} \d{4} \d{4}$/)
  expect(hidden.iban).toMatch(/^DE\d\d \d{4} \d{4} \d{4} \d{4} \d\d$/)
})

test('without the key, pseudonyms go through sockets, children, arguments and variables', async () => {
  const server = createServer((request, response) => {
    // The pieces are chunks on the wire, and the border is inside the address.
    response.write(`hello ${customer.email.slice(0, 16)}`)
    request.on('data', (body) => response.write(`${customer.email.slice(16)} sent ${body}`))
    request.on('end', () => response.end())
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  const { folder, retake } = await folderWith({
    'customer.txt': customer.email,
    'agent.mjs': `
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import http from 'node:http'
import { text } from 'node:stream/consumers'
const email = readFileSync('customer.txt', 'utf8')
const request = http.request({ host: '127.0.0.1', port: ${port}, method: 'POST' })
request.end(JSON.stringify({ email, user: Buffer.from('u:' + email).toString('base64') }))
const response = await new Promise((resolve) => request.on('response', resolve))
console.log(await text(response))
const child = spawn(process.execPath, ['-e', 'process.stdin.pipe(process.stdout)'])
child.stdin.write(email.slice(0, 6))
child.stdin.end(email.slice(6))
console.log(await text(child.stdout), process.argv[2] === email, process.env.CUSTOMER === email)
`,
  })
  const env = { XDG_STATE_HOME: join(folder, 'state'), CUSTOMER: customer.email }
  const recorded = await retake(['record', 'agent.mjs', customer.email], { env })
  server.close()
  expect(recorded.stdout).toContain(`${customer.email} true true`)
  const scrubbed = await retake(['scrub', 'last', '-o', 'shared', ...RULES], { env })
  expect(scrubbed.code, scrubbed.stderr).toBe(0)
  const [copy = ''] = readdirSync(join(folder, 'shared'))
  expect(contentOf(join(folder, 'shared', copy))).not.toMatch(/ann\.lee|example\.org|mple\.org/)
  const structural = await retake(['replay', join('shared', copy), '--trust'])
  expect(structural.code, structural.stderr).toBe(0)
  expect(structural.stderr).toContain('no vault: the program gets pseudonyms')
  expect(structural.stdout).toContain(' true true')
})

test('a vault that cannot be opened is one clear error', async () => {
  const agent = `console.log('write to ${customer.email}', Date.now())`
  const { folder, retake } = await folderWith({ 'agent.mjs': agent })
  const env = { XDG_STATE_HOME: join(folder, 'state') }
  const copies: string[] = []
  for (const output of ['one', 'two']) {
    expect((await retake(['record', 'agent.mjs'], { env })).code).toBe(0)
    const scrub = ['scrub', 'last', '-o', output, ...RULES, '--vault', '--json']
    const { stdout, stderr, code } = await retake(scrub, { env })
    expect(code, stderr).toBe(0)
    const { files } = JSON.parse(stdout) as { files: string[] }
    copies.push(join(folder, files[0] ?? ''))
  }
  const [copy = '', another = ''] = copies
  const vaultOf = (file: string): string => file.replace(/tape$/, 'vault')
  const restore = ['scrub', '--restore', copy, '-o', 'again']
  const replay = ['replay', copy, '--trust']
  const refused = async (
    given: Record<string, string>,
    code: string,
    verbs = isSoak ? [restore, replay] : [restore],
  ): Promise<void> => {
    for (const verb of verbs) {
      const { stderr, stdout, ...ended } = await retake(verb, { env: given })
      expect(ended.code, verb[0]).toBe(1)
      expect(stderr).toContain(code)
      expect(stderr).not.toMatch(/^\s+at /m)
      expect(stdout).not.toContain(customer.email)
    }
  }

  const wrong = { ...env, RETAKE_VAULT_KEY: Buffer.alloc(32, 'guess').toString('base64') }
  await refused(wrong, 'VAULT_KEY_WRONG', [restore, replay])
  await refused({ ...env, RETAKE_VAULT_KEY: 'password' }, 'VAULT_KEY_INVALID')
  const lost = { XDG_STATE_HOME: join(folder, 'lost') }
  await refused(lost, 'VAULT_KEY_MISSING', [restore])
  const { stderr: said } = await retake(replay, { env: lost })
  expect(said).toMatch(/no key [\da-f]{16}: the program gets pseudonyms/)

  const whole = readFileSync(vaultOf(copy))
  for (const length of sampled(
    [60, 0, 5, whole.length >> 1, whole.length - 1],
    (_, at) => at < 1,
  )) {
    writeFileSync(vaultOf(copy), whole.subarray(0, length))
    await refused(env, 'VAULT_DAMAGED')
  }
  const changed = Buffer.from(whole)
  changed[whole.length - 20] = (changed[whole.length - 20] ?? 0) ^ 1
  writeFileSync(vaultOf(copy), changed)
  await refused(env, 'VAULT_DAMAGED')
  // With the name of the right key in its head, another key still opens nothing.
  const keys = await retake(['receipt', 'keys', '--json'], { env: wrong })
  const { key: guessed } = JSON.parse(keys.stdout.trim().split('\n').at(-1) ?? '') as {
    key: string
  }
  const { key: right } = JSON.parse(whole.toString('latin1').split('\n')[1] ?? '') as {
    key: string
  }
  const renamed = Buffer.from(whole.toString('latin1').replace(right, guessed), 'latin1')
  writeFileSync(vaultOf(copy), renamed)
  await refused(wrong, 'VAULT_DAMAGED')

  copyFileSync(vaultOf(another), vaultOf(copy))
  await refused(env, 'VAULT_OF_ANOTHER_TAPE')
  rmSync(vaultOf(copy))
  const missing = await retake(['scrub', '--restore', copy], { env })
  expect(missing.stderr).toContain('VAULT_MISSING')
  mkdirSync(join(folder, 'again'), { recursive: true })
  expect(readdirSync(join(folder, 'again'))).toEqual([])
})

test('a pattern that never ends is stopped, and hides what it was tried on', async () => {
  const text = `order ${'a'.repeat(40)}!`
  const { folder, retake } = await folderWith({ 'agent.mjs': `console.log('${text}')` })
  expect((await retake(['record', 'agent.mjs'])).code).toBe(0)
  const env = { XDG_STATE_HOME: join(folder, 'state') }
  const scrub = ['scrub', 'last', '-o', 'shared', '--redact', '(a+)+$']
  const { code, stderr } = await retake(scrub, { env })
  expect(code, stderr).toBe(0)
  expect(stderr).toContain('rule (a+)+$ took longer than half a second')
  const [copy = ''] = readdirSync(join(folder, 'shared'))
  expect(contentOf(join(folder, 'shared', copy))).not.toContain('a'.repeat(12))
})
