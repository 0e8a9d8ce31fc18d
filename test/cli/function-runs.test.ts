import { once } from 'node:events'
import { soakOnly } from '../support/soak.js'
import { existsSync, readdirSync } from 'node:fs'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { startModelServer } from '@retake/engine/testing'
import { openTape } from '@retake/tape/node'
import { expect, onTestFinished, test } from 'vitest'
import { rewriteTape } from '../support/rewrite-tape.js'
import { run } from '../support/run-retake.mjs'
import { makeProject } from './runner-project.js'
import { cli, folderWith, tapesOf } from './workspace.js'

const library = new URL('../../packages/cli/bundle/index.js', import.meta.url).href

/** Loads nothing but itself, as the module of an agent should. */
const agent = `
import { boundary, currentRun, defineAgent } from '${library}'
const price = boundary('price', async ({ sku }) => ({ sku, price: Math.random() }))
export const handle = defineAgent('agent.mjs#handle', async (order) => {
  const found = await price({ sku: order.sku })
  const total = found.price * order.count
  console.log(currentRun().id, total)
  if (order.count < 0) throw new RangeError('nothing to sell')
  return { total, at: new Date(), key: process.env.SHOP_API_KEY === order.key }
})
`

/** Records the runs of a server: one that returns, one that throws, and one without an entry. */
const server = `
import { record, runOfError } from '${library}'
import { handle } from './agent.mjs'
const input = (count) => ({ sku: 'lamp', count, when: new Date(0), key: process.env.SHOP_API_KEY })
const done = await record({ name: 'order', input: input(2), tags: ['production'] }, handle)
const failed = await record({ name: 'order', input: input(-1) }, handle).catch(runOfError)
const bare = await record({ name: 'bare' }, () => handle(input(1)))
console.log(JSON.stringify([done.run, failed, bare.run].map(({ id }) => id)))
`

/** A workspace in which the server has run, and the ids of its runs. */
async function served() {
  const workspace = await folderWith({ 'agent.mjs': agent, 'server.mjs': server })
  const { folder } = workspace
  // Put together here, so that no key is in the repository.
  const env = { SHOP_API_KEY: ['shop', 'key', 'of', 'the', 'test'].join('-') }
  const { stdout } = await run(process.execPath, ['server.mjs'], folder, { env })
  const ids = JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as [string, string, string]
  return { ...workspace, env, ids, key: env.SHOP_API_KEY }
}

test('runs of a server are replayed, inspected, forked and verified on the command line', async () => {
  const { retake, ids, env, key, folder } = await served()
  const [done, failed] = ids
  const tape = openTape(join(folder, '.retake', 'runs', `${done}.tape`))
  expect(tape.details).toMatchObject({
    entry: 'agent.mjs#handle',
    tags: ['production'],
    input: { sku: 'lamp', count: 2, when: { $: 'Date' } },
  })
  expect(await readFile(tape.path, 'latin1')).not.toContain(key)
  const replayed = await retake(['replay', done], { env })
  expect(replayed).toMatchObject({ code: 0, stderr: expect.stringMatching(/^identical/) as string })
  expect(replayed.stdout).toMatch(new RegExp(`^${done} 0?\\.?\\d`))
  // Another key is not shown to the agent: it gets placeholders, which are equal, too.
  const rotated = await retake(['replay', done], { env: { SHOP_API_KEY: `${key}-2` } })
  expect(rotated.stderr).toMatch(/^identical/)
  const again = await retake(['replay', failed], { env })
  expect(again.stderr).toMatch(/RangeError: nothing to sell[^]*\nidentical/)
  const values = await retake(
    ['debug', 'eval', done, '--at', 'agent.mjs:6', 'order.count', '--json'],
    {
      env,
    },
  )
  expect(values.stdout).toContain('2')
  const forked = await retake(['fork', done, '--at', '1', '--set', 'price=21'], { env })
  expect(forked).toMatchObject({ code: 0, stdout: expect.stringMatching(/ 42\n$/) as string })
  const shown = JSON.parse((await retake(['show', 'last', '--json'])).stdout) as object
  expect(shown).toMatchObject({ result: { total: 42, key: true }, input: { count: 2 } })
  const rerun = await retake(['rerun', done], { env })
  expect(rerun.stderr).toMatch(/^identical/)
  const verified = await retake(['verify', done, 'last', '--json'], { env })
  expect(verified.stdout.match(/"replay": ?"identical"/g)).toHaveLength(2)
})

test('chaos and blame run the function of a server again', async () => {
  soakOnly()
  const { retake, ids, env } = await served()
  const races = await retake(['chaos', ids[0], '--seeds', '2', '--json'], { env })
  expect(JSON.parse(races.stdout)).toMatchObject({ orders: 2, changed: [] })
  const search = ['--oracle', 'exit:0', '--free', 'tool=neutral', '--max-forks', '4', '--yes']
  const blamed = await retake(['blame', ids[1], ...search, '--json'], { env })
  // Not the tool made it fail, but the input.
  expect(JSON.parse(blamed.stdout)).toMatchObject({ findings: { causes: [] } })
})

const desk = `
import OpenAI from 'openai'
import { defineAgent } from '${library}'
export const handle = defineAgent('agent.mjs#handle', async ({ order }) => {
  const client = new OpenAI({ maxRetries: 0 })
  const messages = [{ role: 'user', content: 'Decide on ' + order }]
  const { choices } = await client.chat.completions.create({ model: 'gpt-4o-mini', messages })
  const isLate = order % 2 === 1
  if (isLate && order > 2) throw new RangeError('too late')
  return { decision: choices[0].message.content, isLate }
})
`

/** A project in which a server answered four orders; the third failed. */
async function decided() {
  const server = await startModelServer({
    answer: ({ messages, body }) => ({
      text: messages.at(-1)?.text?.includes('badly') ? 'BAD' : String(body['model']),
      usage: { input: 100, output: 10 },
    }),
  })
  onTestFinished(() => server.stop())
  const folder = await makeProject({
    'package.json': '{ "type": "module", "private": true }',
    'agent.mjs': desk,
    'server.mjs': `import { record } from '${library}'
import { handle } from './agent.mjs'
for (let order = 1; order <= 4; order++)
  await record({ name: 'decide', input: { order } }, handle).catch(() => {})
`,
  })
  const retake = (...args: string[]) =>
    run(process.execPath, [cli, ...args], folder, { env: server.env })
  const served = await run(process.execPath, ['server.mjs'], folder, { env: server.env })
  expect(served.code, served.stderr).toBe(0)
  const edit = (from: string, to: string) =>
    writeFile(join(folder, 'agent.mjs'), desk.replace(from, to))
  return { folder, retake, edit, server }
}

test('ci, compare and separate run the function of a server again', async () => {
  soakOnly()
  const { retake, edit, server } = await decided()
  const ci = async () => {
    const oracle = ['--oracle', 'json:decision="gpt-4o-mini"', '--times', '1', '--json']
    const { stdout, stderr } = await retake('verify', '--code', 'today', '.retake/runs', ...oracle)
    expect(stdout, stderr).not.toBe('')
    return JSON.parse(stdout) as { counts: Record<string, number>; exitCode: number }
  }
  expect(await ci()).toMatchObject({ counts: { unchanged: 4 }, exitCode: 0 })
  await edit("content: 'Decide on '", "content: 'Decide badly on '")
  // Nothing can be said about a run that fails before it decides.
  expect(await ci()).toMatchObject({ counts: { fails: 3, undecided: 1 }, exitCode: 3 })
  await edit('decision: choices', "decision: '', was: choices")
  const before = server.requests.length
  expect(await ci()).toMatchObject({ counts: { fails: 3, unchanged: 1 }, exitCode: 3 })
  expect(server.requests.length).toBe(before)
  await edit('', '')

  const models = ['--at', '1', '--models', 'gpt-4o-mini,gpt-4o', '--times', '1', '--yes', '--json']
  const oracle = ['--oracle', 'json:decision="gpt-4o"']
  const compared = await retake('compare', 'last', ...models, ...oracle)
  expect(JSON.parse(compared.stdout), compared.stderr).toMatchObject({
    rows: [
      { name: 'gpt-4o-mini', judged: 1, passed: 0 },
      { name: 'gpt-4o', judged: 1, passed: 1 },
    ],
  })

  const separated = await retake('failures', '--variables', '--json')
  const found = JSON.parse(separated.stdout) as { predicates: { text: string }[] }
  expect(found, separated.stderr).toMatchObject({ failed: 1, passed: 3, skipped: [] })
})

test('a test of a run with an entry calls its function with the recorded input', async () => {
  const { retake, edit, folder, server } = await decided()
  await server.stop()
  const written = await retake('test', 'last', '--runner', 'node')
  expect(written.code, written.stderr).toBe(0)
  const replayed = () =>
    run(process.execPath, ['--test', 'test/decide.test.mjs'], folder, { env: server.env })
  expect(await readFile(join(folder, 'test/decide.test.mjs'), 'utf8')).toContain(
    'handle({"order":4})',
  )
  // Log lines and clock reads do not count as a difference.
  await edit('const isLate', 'console.log(Date.now())\n  const isLate')
  const passed = await replayed()
  expect(passed.code, passed.stdout).toBe(0)
  const again = await retake('test', 'last', '--runner', 'node', '--force')
  expect(again.code, again.stderr).toBe(0)
  await edit("content: 'Decide on '", "content: 'Decide badly on '")
  expect((await replayed()).stdout).toContain('Decide badly on 4')
  const refused = await retake('test', 'last', '--runner', 'node', '--force')
  expect(refused.code).toBe(3)
  expect(refused.stderr).toContain('No test was written')
})

test('without an entry the error says what to add', async () => {
  const { retake, ids } = await served()
  for (const verb of ['replay', 'rerun', 'step'])
    expect((await retake([verb, ids[2]])).stderr).toMatch(
      /fix {2}For future runs, record both: `record\(\{ name, entry: 'src\/agent\.ts#handle', input \}, handle\)`[^]*NOT_A_PROCESS_RUN/,
    )
})

test('a replay that lacks module state of earlier calls says so', async () => {
  const { retake, folder } = await folderWith({
    'sum.mjs': `import { boundary } from '${library}'
const note = boundary('note', async (text) => text)
let total = 0
export const add = (count) => note('total ' + (total += count))`,
    'calls.mjs': `import { record } from '${library}'
import { add } from './sum.mjs'
for (const input of [1, 2]) await record({ name: 'add', input, entry: 'sum.mjs#add' }, add)`,
  })
  await run(process.execPath, ['calls.mjs'], folder)
  const { code, stderr } = await retake(['replay', 'last'])
  expect(code).toBe(3)
  expect(stderr).toContain('- total 3')
  expect(stderr).toContain('Earlier calls may have left state in the module')
  expect(stderr).toContain('A queue that runs share')
})

test('a replay that lacks files which a package has read in an earlier run names the package', async () => {
  const { retake, folder } = await folderWith({
    'node_modules/@acme/models/index.mjs': `import { readFileSync } from 'node:fs'
let list
export const models = () => (list ??= readFileSync(new URL('list.txt', import.meta.url), 'utf8'))`,
    'node_modules/@acme/models/package.json': '{ "main": "index.mjs" }',
    'node_modules/@acme/models/list.txt': 'one',
    'ask.mjs': `import { models } from '@acme/models'
export const ask = () => models() + Math.random()`,
    'calls.mjs': `import { record } from '${library}'
import { ask } from './ask.mjs'
for (const input of [1, 2]) await record({ name: 'ask', input, entry: 'ask.mjs#ask' }, ask)`,
  })
  await run(process.execPath, ['calls.mjs'], folder)
  expect((await retake(['replay', 'last~1'])).code).toBe(0)
  const { code, stderr } = await retake(['replay', 'last'])
  expect(code).toBe(3)
  expect(stderr).toContain('@acme/models probably reads its files only once in a process')
})

test('a signal from outside the run needs a default in the module, and a replay says so', async () => {
  const module = (noSignal: string) => `import { AsyncLocalStorage } from 'node:async_hooks'
export const request = new AsyncLocalStorage()
const noSignal = ${noSignal}
export const wait = async () => {
  const signal = request.getStore() ?? noSignal
  if (signal) await new Promise((resolve) => signal.addEventListener('abort', resolve))
  console.log('aborted', signal?.reason.message)
}`
  const { retake, folder } = await folderWith({
    'wait.mjs': module('undefined'),
    'client.mjs': `import { getEventListeners } from 'node:events'
import { record } from '${library}'
import { request, wait } from './wait.mjs'
const client = new AbortController()
const timer = setInterval(() => {
  if (getEventListeners(client.signal, 'abort').length === 0) return
  clearInterval(timer)
  client.abort(new Error('disconnected'))
}, 5)
await request.run(client.signal, () =>
  record({ name: 'wait', input: 1, entry: 'wait.mjs#wait' }, wait))`,
  })
  await run(process.execPath, ['client.mjs'], folder)
  const without = await retake(['replay', 'last'])
  expect(without.code).toBe(3)
  expect(without.stderr).toContain('create a default signal in the module')
  await writeFile(join(folder, 'wait.mjs'), module('new AbortController().signal'))
  const { code, stdout } = await retake(['replay', 'last'])
  expect(code).toBe(0)
  expect(stdout).toContain('aborted disconnected')
})

test.each(['server.mjs', 'agent.mjs'])(
  'a replay imports the module of an agent that %s recorded, and does not start it as the program',
  async (script) => {
    const { retake, folder } = await folderWith({
      'agent.mjs': `import { record } from '${library}'
import { writeFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
export const handle = (input) => input.isMain ? 'main' : process.argv[1]
export const serve = (isMain) =>
  record({ name: 'a', input: { isMain }, entry: 'agent.mjs#handle' }, handle)
if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  writeFileSync('started', '')
  await serve(true)
}`,
      'server.mjs': `import { serve } from './agent.mjs'\nawait serve(false)`,
    })
    await run(process.execPath, [script], folder)
    await rm(join(folder, 'started'), { force: true })
    const { code, stderr } = await retake(['replay', 'last'])
    expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.stringMatching(/^identical/) })
    expect(existsSync(join(folder, 'started'))).toBe(false)
  },
)

test('an entry that cannot be called is reported', async () => {
  const { retake, ids, folder, env } = await served()
  await writeFile(join(folder, 'agent.mjs'), 'export const other = 1')
  expect((await retake(['replay', ids[0]], { env })).stderr).toMatch(
    /no function `handle`[^]*It exports other[^]*ENTRY_NOT_A_FUNCTION/,
  )
  await writeFile(join(folder, 'agent.mjs'), `throw new Error('no database')`)
  expect((await retake(['replay', ids[0]], { env })).stderr).toMatch(
    /no database[^]*ENTRY_NOT_LOADED/,
  )
})

test('a module that connects on import reaches nothing in a replay', async () => {
  const { retake, ids, folder, env } = await served()
  let connections = 0
  const outside = createServer((socket) => {
    connections += 1
    socket.destroy()
  }).listen(0, '127.0.0.1')
  await once(outside, 'listening')
  const { port } = outside.address() as AddressInfo
  const connecting = `import net from 'node:net'
import { writeFileSync } from 'node:fs'
writeFileSync('written', '')
net.connect(${port}, '127.0.0.1')
${agent}`
  await writeFile(join(folder, 'agent.mjs'), connecting)
  const { stderr } = await retake(['replay', ids[0]], { env })
  outside.close()
  expect({ stderr, connections }).toEqual({
    stderr: expect.stringContaining('ENTRY_NOT_LOADED') as string,
    connections: 0,
  })
  const hasPermissions = process.allowedNodeEnvironmentFlags.has('--permission')
  expect(existsSync(join(folder, 'written'))).toBe(!hasPermissions)
})

test('a tape with another input is not trusted', async () => {
  const workspace = await served()
  const [file = ''] = await tapesOf(workspace)
  const changed = join(workspace.folder, 'changed.tape')
  const { details, run: recorded } = openTape(file)
  rewriteTape(file, changed, (entry) => entry, { ...recorded, id: 'changed' })
  expect((await workspace.retake(['replay', changed], workspace)).code).toBe(0)
  const { TapeWriter } = await import('@retake/tape/node')
  const planted = join(workspace.folder, 'planted.tape')
  const writer = TapeWriter.create(
    planted,
    { ...recorded, id: 'planted' },
    { ...details, input: 'another' },
  )
  writer.append({ type: 'end' })
  writer.seal()
  expect((await workspace.retake(['replay', planted])).stderr).toContain('RUN_NOT_TRUSTED')
})

test('retake.config says where record() writes its tapes', async () => {
  const { folder, retake } = await folderWith({
    'agent.mjs': agent,
    'server.mjs': server,
    'retake.config.mjs': `import { defineConfig } from '${library}'\nexport default defineConfig({ runs: 'tapes' })`,
    'package.json': '{}',
  })
  const { code } = await run(process.execPath, ['server.mjs'], folder)
  expect(code).toBe(0)
  expect((await retake(['list'])).stdout.trim().split('\n')).toHaveLength(4)
  expect((await retake(['list', '--dir', 'tapes'])).stdout.trim().split('\n')).toHaveLength(4)
  await writeFile(join(folder, 'retake.config.mjs'), `export default { run: 'tapes' }`)
  expect((await run(process.execPath, ['server.mjs'], folder)).stderr).toContain(
    'Did you mean runs?',
  )
})

/** Serves requests that write more than fits into the file of a tape. */
const full = `
import { record } from '${library}'
import { createServer } from 'node:http'
const agent = async (size) => {
  console.log('x'.repeat(size))
  await new Promise((resolve) => setTimeout(resolve, 1))
  const answer = await fetch(address)
  return answer.text()
}
const outside = createServer((_, response) => response.end('fine')).listen(0, '127.0.0.1')
await new Promise((resolve) => outside.once('listening', resolve))
const address = 'http://127.0.0.1:' + outside.address().port
const results = []
for (const size of [10, 50_000, 10])
  await record({ name: 'full', input: size, onError: process.argv[2] }, agent).then(
    ({ output, run }) => results.push({ output, failure: run.failure?.code, path: run.path }),
    ({ code }) => results.push({ code }),
  )
console.error(JSON.stringify(results))
outside.close()
`

test.skipIf(process.platform === 'win32')(
  'requests are served unrecorded when the tape cannot be written, and the tape says so',
  async () => {
    const { folder, retake } = await folderWith({ 'server.mjs': full })
    // A file of more than 16 kB fails as one on a full disk does.
    const limited = (mode: string) =>
      run('bash', ['-c', `trap '' XFSZ; ulimit -f 16; exec node server.mjs ${mode}`], folder)
    const stopped = await limited('stop')
    expect(stopped.stderr).toContain('{"code":"TAPE_WRITE_FAILED"}')
    const locks = () =>
      readdirSync(join(folder, '.retake', 'runs')).filter((name) => name.endsWith('.lock'))
    const before = locks()
    const { stderr } = await limited('continue')
    expect(stderr).toMatch(/RECORDING_STOPPED.*The run full continues unrecorded/)
    const results = JSON.parse(stderr.trim().split('\n').at(-1) ?? '') as { output: string }[]
    expect(results).toMatchObject([
      { output: 'fine' },
      { output: 'fine', failure: 'TAPE_WRITE_FAILED' },
      { output: 'fine' },
    ])
    expect(locks()).toEqual(before)
    const listed = await retake(['list', '--json', '-n', '3'])
    const rows = listed.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as object)
    expect(rows).toMatchObject([{ status: 'done' }, { cutOff: true }, { status: 'done' }])
    const shown = await retake(['show', 'last~1'])
    expect(shown.stdout).toMatch(/cut off[^]*end of the recording[^]*could not be written/)
  },
)

test('a module finds the process id and host name of the recording when it is loaded, however long that takes', async () => {
  const workspace = await folderWith({
    'agent.mjs': `
import os from 'node:os'
const line = JSON.stringify({ pid: process.pid, ppid: process.ppid, hostname: os.hostname() })
if (process.env.SLOW) await new Promise((resolve) => setTimeout(resolve, 2500))
export const handle = () => {
  console.log(line)
  return process.pid
}
`,
    'server.mjs': `
import { record } from '${library}'
import os from 'node:os'
os.hostname = () => 'production-7'
const { handle } = await import('./agent.mjs')
await record({ name: 'order', entry: 'agent.mjs#handle' }, handle)
`,
  })
  const { retake, folder } = workspace
  const recorded = await run(process.execPath, ['server.mjs'], folder)
  expect(JSON.parse(recorded.stdout)).toMatchObject({ hostname: 'production-7' })
  const replayed = await retake(['replay', 'last'])
  expect(replayed).toMatchObject({ code: 0, stdout: recorded.stdout })
  // A rerun counts as stalled after a second in which nothing happens.
  const rerun = await retake(['rerun', 'last'], { env: { SLOW: '1' } })
  expect(rerun.stderr + rerun.stdout).toContain('all of')
})

test('a run replays without the telemetry that the server has preloaded', async () => {
  // Packages, and the property of `globalThis` that each sets.
  for (const [name, mark] of [
    ['@opentelemetry/sdk', "Symbol.for('opentelemetry.js.api.1')"],
    ['@sentry/core', "'__SENTRY__'"],
    ['dd-trace', "Symbol.for('dd-trace')"],
  ]) {
    const workspace = await folderWith({
      [`node_modules/${name}/package.json`]: '{ "main": "index.js" }',
      [`node_modules/${name}/index.js`]: `
const { randomUUID } = require('node:crypto')
let reported = 0
exports.startSpan = () => {
  if (reported++ === 0) setTimeout(() => fetch('http://127.0.0.1:1/').catch(() => {}), 1)
  return [Math.random(), randomUUID(), Date.now(), new Date(), performance.now(), process.hrtime()]
}
`,
      'telemetry.mjs': `
import { startSpan } from '${name}'
globalThis[${mark}] = { startSpan }
`,
      'agent.mjs': `
export const handle = async (order) => {
  globalThis[${mark}]?.startSpan()
  await new Promise((resolve) => setTimeout(resolve, 50))
  console.log(order, Math.random())
  globalThis[${mark}]?.startSpan()
}
`,
      'server.mjs': `
import { record } from '${library}'
import { handle } from './agent.mjs'
const options = (input) => ({ name: 'order', entry: 'agent.mjs#handle', input })
await Promise.all([1, 2].map((input) => record(options(input), handle)))
`,
    })
    const { retake, folder } = workspace
    const flags = ['--import', './telemetry.mjs', 'server.mjs']
    const { stdout } = await run(process.execPath, flags, folder)
    for (const tape of await tapesOf(workspace)) {
      const draws = [...openTape(tape).events()].filter(({ type }) => type === 'draw')
      expect(draws).toMatchObject([{ kind: 'Math.random' }])
      const replayed = await retake(['replay', tape])
      expect(replayed.code).toBe(0)
      expect(stdout).toContain(replayed.stdout)
    }
  }
})

test('exports of OpenTelemetry that a run triggers are not part of it', async () => {
  const workspace = await folderWith({
    'node_modules/@opentelemetry/otlp-exporter-base/package.json': '{ "main": "index.js" }',
    'node_modules/@opentelemetry/otlp-exporter-base/index.js': `
const http = require('node:http')
const agent = new http.Agent({ keepAlive: true })
exports.send = (port) => new Promise((resolve, reject) => {
  const request = http.request({ host: '127.0.0.1', port, agent, method: 'POST' }, (response) =>
    response.resume().on('end', resolve))
  request.on('error', reject).end(String(Math.random()))
})
`,
    'agent.mjs': `
import { send } from '@opentelemetry/otlp-exporter-base'
globalThis[Symbol.for('opentelemetry.js.api.1')] = {}
let spans = 0
export const handle = async ({ port }) => {
  // The first span of the process is sent late, as by an exporter that loads its transport lazily.
  if (spans++ > 0) send(port).catch(() => {})
  await new Promise((resolve) => setTimeout(resolve, 50))
  console.log('done')
}
`,
    'server.mjs': `
import { record } from '${library}'
import { createServer } from 'node:http'
import { handle } from './agent.mjs'
let exports = 0
const collector = createServer((_, response) => response.end(String(++exports)))
await new Promise((resolve) => collector.listen(0, '127.0.0.1', resolve))
const input = { port: collector.address().port }
for (let run = 0; run < 3; run++) await record({ name: 'order', entry: 'agent.mjs#handle', input }, handle)
console.log('exports', exports)
process.exit()
`,
  })
  const { retake, folder } = workspace
  expect((await run(process.execPath, ['server.mjs'], folder)).stdout).toContain('exports 2')
  for (const tape of await tapesOf(workspace)) {
    const types = new Set([...openTape(tape).events()].map(({ type }) => type))
    expect([...types]).not.toContain('note')
    expect(await retake(['replay', tape])).toMatchObject({ code: 0, stdout: 'done\n' })
  }
})

test('random values are captured if a framework has replaced the functions of Web Crypto', async () => {
  const { retake, folder } = await folderWith({
    'agent.mjs': `
export const handle = () => console.log(crypto.randomUUID(), crypto.getRandomValues(new Uint8Array(4)))
`,
    // As Next.js does before it loads the program.
    'server.mjs': `
for (const name of ['randomUUID', 'getRandomValues']) {
  const native = crypto[name]
  crypto[name] = (...args) => native.apply(crypto, args)
}
const { record } = await import('${library}')
const { handle } = await import('./agent.mjs')
await record({ name: 'order', entry: 'agent.mjs#handle' }, handle)
`,
  })
  const { stdout } = await run(process.execPath, ['server.mjs'], folder)
  expect(await retake(['replay', 'last'])).toMatchObject({ code: 0, stdout })
})
