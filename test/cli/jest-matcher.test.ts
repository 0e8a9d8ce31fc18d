import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { cp, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { startModelServer } from '@retake/engine/testing'
import { openTape } from '@retake/tape/node'
import * as retake from 'retake'
import { describe, expect, onTestFinished, test } from 'vitest'
import { makeProject, runJest } from './runner-project.js'
import { sampled, soakOnly } from '../support/soak.js'

/**
 * Touches what Jest gives every test file of its own: `Date`, `Math`, `Intl`, the
 * console, modules; and what it shares with Node: `fetch`, timers, `process`, files.
 */
const agent = `
async function agent(text, expect) {
  const policy = readFileSync(POLICY, 'utf8')
  console.log('reads', policy)
  const client = new OpenAI({ maxRetries: 0 })
  const facts = [Math.random(), Date.now(), Date(), new Date().getTime(), randomUUID(), process.pid,
    performance.now(), process.hrtime().join(), new Intl.DateTimeFormat('en', { timeStyle: 'full' }).format(),
    crypto.getRandomValues(new Uint8Array(4)).join()]
  const first = await client.chat.completions.create({
    model: 'gpt-4o-mini',
    messages: [{ role: 'user', content: policy + text + facts.join(' ') }],
  })
  await new Promise((resolve) => setTimeout(resolve, 5))
  const stream = await client.chat.completions.create({
    model: 'gpt-4o-mini',
    stream: true,
    messages: [{ role: 'user', content: first.choices[0].message.content }],
  })
  let answer = ''
  for await (const chunk of stream) answer += chunk.choices[0]?.delta.content ?? ''
  // Jest itself has no way for concurrent tests to import later on.
  const { later } = text.startsWith('number') ? {} : await loadLater()
  const order = await lookup('1182')
  expect?.(order).toStrictEqual({ id: '1182', at: new Date(5), lines: [{ sku: 1 }] })
  const error = await lookup('none').catch((thrown) => thrown)
  const isError = error instanceof RangeError && error instanceof Error
  return { answer, later, isError, at: new Date(), seen: new Map([['order', order]]) }
}
const lookup = tool('lookup', async (id) => {
  if (id === 'none') throw new RangeError('no such order')
  return { id, at: new Date(5), lines: [{ sku: 1 }] }
})
`

const suite = `
test('a function is replayed by the matcher', async () => {
  await expect(() => agent('order 1182', expect)).toReplay('tapes/NAME-refund.tape')
})
test('tape gives the output', async () => {
  const { output } = await tape('tapes/NAME-output.tape', () => agent('order 7', expect))
  expect(output.answer).toContain('order 7')
  expect(output).toMatchObject({ later: 'later', isError: true, at: expect.any(Date) })
  expect(output.seen.get('order').id).toBe('1182')
})
for (const number of [1, 2, 3]) {
  test.concurrent('concurrent ' + number, async () => {
    const { output } = await tape('tapes/NAME-' + number + '.tape', () => agent('number ' + number, expect))
    expect(output.answer).toContain('number ' + number)
  })
}
test('other code is another run', async () => {
  await expect(() => agent('order 9', expect)).not.toReplay('tapes/NAME-refund.tape')
})
test('fake timers are as they are without Retake', async () => {
  jest.useFakeTimers({ now: 86_400_000, doNotFake: ['setTimeout', 'setImmediate', 'nextTick', 'queueMicrotask', 'performance', 'hrtime'] })
  const { output } = await tape('tapes/NAME-fake.tape', () => agent('x'))
  jest.useRealTimers()
  expect(output.at.toISOString()).toBe('1970-01-02T00:00:00.000Z')
})
`

const titles = [
  'a function is replayed by the matcher',
  'tape gives the output',
  ...[1, 2, 3].map((number) => `concurrent ${number}`),
  'other code is another run',
  'fake timers are as they are without Retake',
]
const allPassed = Object.fromEntries(titles.map((title) => [title, 'passed']))

const cjsTest = (name: string): string => `
const { randomUUID } = require('node:crypto')
const { readFileSync } = require('node:fs')
const OpenAI = require('openai')
const { tool } = require('retake')
const { tape } = require('retake/jest')
const POLICY = require('node:path').join(__dirname, '../policy.txt')
const loadLater = async () => require('../later.cjs')
${agent}${suite.replaceAll('NAME', name)}`

const esmTest = (name: string): string => `
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { jest } from '@jest/globals'
import OpenAI from 'openai'
import { tool } from 'retake'
import { expect, tape } from 'retake/jest'
const POLICY = new URL('../policy.txt', import.meta.url)
const loadLater = () => import('../later.mjs')
${agent}${suite.replaceAll('NAME', name)}`

const common = {
  'package.json': '{ "private": true }',
  'jest.config.json': JSON.stringify({
    testEnvironment: 'retake/jest-environment',
    testMatch: ['**/*.test.?(c|m)js'],
    transform: {},
    // Two packages would be called the same.
    haste: { enableSymlinks: false },
    silent: true,
  }),
  'policy.txt': 'Refunds within 30 days. ',
  'later.cjs': "exports.later = 'later'",
  'later.mjs': "export const later = 'later'",
}

const kinds = {
  'CommonJS, without any transform': {
    esm: false,
    files: { ...common, 'test/a.test.cjs': cjsTest('a'), 'test/b.test.cjs': cjsTest('b') },
    source: 'test/a.test.cjs',
  },
  'ES modules': {
    esm: true,
    files: { ...common, 'test/a.test.mjs': esmTest('a'), 'test/b.test.mjs': esmTest('b') },
    source: 'test/a.test.mjs',
  },
}

async function startModel() {
  const server = await startModelServer({
    answer: ({ messages }) => ({ text: `You said: ${messages.at(-1)?.text}` }),
  })
  onTestFinished(() => server.stop())
  return server
}

const testedKinds = sampled(Object.entries(kinds), ([, { esm }]) => esm)

describe.each(testedKinds)('in Jest, %s', (_, { esm, files, source }) => {
  test('tapes are recorded the first time and replay without the model, elsewhere too', async () => {
    const folder = await makeProject(files)
    const server = await startModel()
    const recorded = await runJest(folder, server.env, { esm })
    expect(recorded.tests).toEqual(allPassed)
    const tapes = join(folder, 'test/tapes')
    expect(readdirSync(tapes)).toHaveLength(12)
    expect(server.requests).toHaveLength(24)
    expect(JSON.stringify(openTape(join(tapes, 'a-refund.tape')).details)).toContain(folder)
    await server.stop()

    // Two files after each other in one process; then each in a process of its own.
    const env = { ...server.env, CI: 'true' }
    const replayed = await runJest(folder, env, { esm, args: ['--runInBand', '--silent=false'] })
    expect(replayed).toMatchObject({ code: 0, tests: allPassed })
    const elsewhere = await makeProject(files)
    await cp(tapes, join(elsewhere, 'test/tapes'), { recursive: true })
    const moved = await runJest(elsewhere, env, { esm, args: ['--maxWorkers=2', '--ci'] })
    expect(moved).toMatchObject({ code: 0, tests: allPassed })
  })

  test('a changed agent fails with the difference, at the line of the request', async () => {
    const folder = await makeProject(files)
    const server = await startModel()
    const args = ['test/a.test', '-t', 'by the matcher|gives the output']
    await runJest(folder, server.env, { esm, args })
    await server.stop()
    const text = readFileSync(join(folder, source), 'utf8')
    const changed = text.replace('policy + text', "policy + 'about ' + text")
    await writeFile(join(folder, source), changed)
    const { code, tests } = await runJest(folder, server.env, { esm, args })
    expect(code).toBe(1)
    const line = changed.split('\n').findIndex((each) => each.includes('const first')) + 1
    for (const title of titles.slice(0, 2)) {
      const { failed } = tests[title] as { failed: string }
      expect(failed).toContain('The agent no longer matches test/tapes/a-')
      expect(failed).toMatch(/\n {2}- "Refunds within 30 days\. order/)
      expect(failed).toMatch(/\n {2}\+ "Refunds within 30 days\. about order/)
      expect(failed).toContain(`${source}:${line}:`)
    }
  })

  test('in CI a missing tape fails without a request; RETAKE_MODE records again', async () => {
    soakOnly()
    const folder = await makeProject(files)
    const server = await startModel()
    const args = ['test/a.test', '-t', 'by the matcher|gives the output|concurrent']
    const env = { ...server.env, CI: 'true' }
    const missing = await runJest(folder, env, { esm, args })
    expect(missing.code).toBe(1)
    for (const title of titles.slice(0, 5)) {
      const { failed } = missing.tests[title] as { failed: string }
      expect(failed).toMatch(/why {2}.+\n {2}fix {2}.+\n {2}code TEST_TAPE_MISSING/)
    }
    expect(server.requests).toEqual([])
    expect(existsSync(join(folder, 'test/tapes'))).toBe(false)
    const file = join(folder, 'test/tapes/a-refund.tape')
    const bytes: Buffer[] = []
    for (let time = 0; time < 2; time += 1) {
      const { code } = await runJest(folder, { ...env, RETAKE_MODE: 'record' }, { esm, args })
      expect(code).toBe(0)
      bytes.push(readFileSync(file))
    }
    expect(server.requests).toHaveLength(20)
    expect(bytes[0]?.equals(bytes[1] ?? Buffer.alloc(0))).toBe(false)
  })
})

test('modules that Jest transforms in the middle of a run, with coverage, are not part of it', async () => {
  soakOnly()
  const config = {
    testEnvironment: 'retake/jest-environment',
    collectCoverage: true,
    cache: false,
  }
  const folder = await makeProject({
    ...common,
    'jest.config.json': JSON.stringify({ ...config, testMatch: ['**/*.test.js'] }),
    'later.js': "exports.later = 'later'",
    'test/a.test.js': cjsTest('a').replace('later.cjs', 'later.js'),
  })
  const server = await startModel()
  const args = ['-t', 'by the matcher|another run']
  const passed = expect.objectContaining({
    'a function is replayed by the matcher': 'passed',
    'other code is another run': 'passed',
  }) as object
  expect((await runJest(folder, server.env, { args })).tests).toEqual(passed)
  await server.stop()
  const events = () => {
    const tape = openTape(join(folder, 'test/tapes/a-refund.tape'))
    return Array.from({ length: tape.count }, (_, seq) => tape.event(seq))
  }
  expect(
    events().filter((event) => event.type === 'draw' && event.kind === 'process.pid'),
  ).toHaveLength(1)
  expect((await runJest(folder, { ...server.env, CI: 'true' }, { args })).tests).toEqual(passed)
})

test('without its environment, retake/jest says what to set', async () => {
  const folder = await makeProject({
    ...common,
    'jest.config.json': '{ "testMatch": ["**/*.test.cjs"], "transform": {} }',
    'a.test.cjs': "require('retake/jest')\ntest('never', () => {})",
  })
  const { code, text } = await runJest(folder, {}, {})
  expect(code).toBe(1)
  expect(text).toContain('code JEST_ENVIRONMENT_MISSING')
  expect(text).toContain("testEnvironment: 'retake/jest-environment'")
})

test('inside Jest, retake has the same exports as outside', async () => {
  soakOnly()
  const folder = await makeProject({
    ...common,
    'a.test.cjs': `
test('names', () => {
  expect(Object.keys(require('retake')).toSorted()).toEqual(${JSON.stringify(Object.keys(retake).toSorted())})
})`,
  })
  expect((await runJest(folder, {}, {})).tests).toEqual({ names: 'passed' })
})

test('code that imports the engine inside Jest, as adapters do, shares the outer engine', async () => {
  soakOnly()
  const folder = await makeProject({
    ...common,
    'a.test.mjs': `
import { within } from '@retake/engine'
import OpenAI from 'openai'
import { tape } from 'retake/jest'
const messages = [{ role: 'user', content: 'hello' }]
test('named', async () => {
  const { output } = await tape('tapes/named.tape', () =>
    within({ kind: 'agent', name: 'planner' }, async () => {
      const answer = await new OpenAI().chat.completions.create({ model: 'gpt-4o-mini', messages })
      return answer.choices[0].message.content
    }),
  )
  expect(output).toContain('hello')
})`,
  })
  const server = await startModel()
  const { tests, text } = await runJest(folder, server.env, { esm: true })
  expect(tests, text).toEqual({ named: 'passed' })
  const taped = openTape(join(folder, 'tapes/named.tape'))
  const events = Array.from({ length: taped.count }, (_, seq) => taped.event(seq))
  expect(events.find(({ type }) => type === 'request')).toMatchObject({
    within: [{ kind: 'agent', name: 'planner' }],
  })
})
