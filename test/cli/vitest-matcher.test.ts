import { randomBytes } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { cp, mkdir, readFile, rename, rm, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { startModelServer } from '@retake/engine/testing'
import { openTape } from '@retake/tape/node'
import { expect, onTestFinished, test } from 'vitest'
import { runLibrary } from '../support/run-library.mjs'
import { run } from '../support/run-retake.mjs'
import { makeProject, runVitest } from './runner-project.js'
import { cli } from './workspace.js'
import { sampled, soakOnly } from '../support/soak.js'

/** Asks a model twice, the second time streamed, and reads clock, chance and a file beside it. */
const agent = `
import { readFileSync } from 'node:fs'
import OpenAI from 'openai'

export async function agent(text) {
  const policy = readFileSync(new URL('./policy.txt', import.meta.url), 'utf8')
  const { order } = await import('./order.mjs')
  const client = new OpenAI({ maxRetries: 0 })
  const first = await client.chat.completions.create({
    model: 'gpt-4o-mini',
    messages: [{ role: 'user', content: policy + text + order + Math.random() + Date.now() }],
  })
  await new Promise((resolve) => setTimeout(resolve, 5))
  const stream = await client.chat.completions.create({
    model: 'gpt-4o-mini',
    stream: true,
    messages: [{ role: 'user', content: first.choices[0].message.content }],
  })
  let answer = ''
  for await (const chunk of stream) answer += chunk.choices[0]?.delta.content ?? ''
  console.log('answered', answer)
  return { answer, at: new Date() }
}
`

const refundTest = `
import { expect, test } from 'retake/vitest'
import { agent } from '../agent.mjs'

test('a function is replayed by the matcher', async () => {
  await expect(() => agent('order 1182')).toReplay('tapes/refund.tape')
})

test('the same tape once more', async () => {
  await expect(() => agent('order 1182')).toReplay('tapes/refund.tape')
})

test('the fixture gives the output', async ({ tape }) => {
  const { output } = await tape('tapes/fixture.tape', () => agent('order 7'))
  expect(output.answer).toContain('You said')
  expect(output.at).toBeInstanceOf(Date)
})

for (const number of [1, 2, 3, 4]) {
  test.concurrent('concurrent ' + number, async ({ tape }) => {
    const { output } = await tape('tapes/concurrent-' + number + '.tape', () => agent('number ' + number))
    expect(output.answer).toContain('number ' + number)
  })
}
`

const projectFiles = {
  // As where Retake is installed: what is in node_modules is not Vite's to transform.
  'vitest.config.mjs':
    'export default { test: { testTimeout: 60_000, server: { deps: { external: [/\\/packages\\//] } } } }',
  'package.json': '{ "type": "module", "private": true }',
  'policy.txt': 'Refunds within 30 days. ',
  'agent.mjs': agent,
  // Loaded in the run, where Vitest looks at the clock.
  'order.mjs': "export const order = ' as ordered '",
  'test/refund.test.mjs': refundTest,
}

async function startModel() {
  const server = await startModelServer({
    answer: ({ messages }) => ({ text: `You said: ${messages.at(-1)?.text}` }),
  })
  onTestFinished(() => server.stop())
  return server
}

const titles = [
  'a function is replayed by the matcher',
  'the same tape once more',
  'the fixture gives the output',
  ...[1, 2, 3, 4].map((number) => `concurrent ${number}`),
]
const allPassed = Object.fromEntries(titles.map((title) => [title, 'passed']))

test('tapes are recorded the first time and then replay without the model, elsewhere too', async () => {
  const folder = await makeProject(projectFiles)
  const server = await startModel()
  const recorded = await runVitest(folder, server.env)
  expect(recorded.tests).toEqual(allPassed)
  expect(server.requests).toHaveLength(2 * 6)
  const tapes = join(folder, 'test/tapes')
  expect(readdirSync(tapes)).toHaveLength(6)
  await server.stop()

  const inPool = (pool: string) =>
    runVitest(folder, { ...server.env, CI: 'true' }, [`--pool=${pool}`])
  for (const pool of sampled(['forks', 'threads'], () => false))
    expect(await inPool(pool)).toMatchObject({ code: 0, tests: allPassed })
  expect((await inPool('vmThreads')).text).toContain('pools vmThreads and vmForks')

  const elsewhere = await makeProject(projectFiles)
  await cp(tapes, join(elsewhere, 'test/tapes'), { recursive: true })
  const moved = await runVitest(elsewhere, { ...server.env, RETAKE_MODE: 'offline' })
  expect(moved).toMatchObject({ code: 0, tests: allPassed })
})

test('a changed agent fails with the difference, at the line of the request', async () => {
  const folder = await makeProject(projectFiles)
  const server = await startModel()
  await runVitest(folder, server.env, ['-t', 'matcher|fixture'])
  await server.stop()
  await writeFile(join(folder, 'policy.txt'), 'no longer read from disk')
  await writeFile(
    join(folder, 'agent.mjs'),
    agent
      .replace('import OpenAI', '// A line more.\nimport OpenAI')
      .replace('policy + text', "policy + 'about ' + text"),
  )
  const { code, tests } = await runVitest(folder, server.env, ['-t', 'matcher|fixture'])
  expect(code).toBe(1)
  for (const title of [titles[0], titles[2]]) {
    const { failed } = tests[title ?? ''] as { failed: string }
    expect(failed).toMatch(/^TapeFailure: The agent no longer matches test\/tapes\/\w+\.tape\./)
    expect(failed).toContain('diverged at event ')
    expect(failed).toContain('· step 1 gpt-4o-mini')
    expect(failed).toContain('body.messages[0].content')
    expect(failed).toMatch(/\n {2}- "Refunds within 30 days\. order/)
    expect(failed).toMatch(/\n {2}\+ "Refunds within 30 days\. about order/)
    expect(failed).toContain('fix  Changed since the recording: agent.mjs.')
    expect(failed).toContain(`RETAKE_MODE=record npx vitest run test/refund.test.mjs -t '${title}'`)
    const line = 1 + agent.split('\n').findIndex((text) => text.includes('const first'))
    expect(failed).toContain(`at ${join(folder, 'agent.mjs')}:${line + 1}:`)
  }
})

test('logs and extra random draws do not fail a test; -u records again only tests that send something else', async () => {
  const folder = await makeProject(projectFiles)
  const server = await startModel()
  const first = await runVitest(folder, server.env, ['-t', 'matcher|fixture'])
  expect(first.text).toContain('refund.tape was recorded for the first time')
  const tapes = ['refund', 'fixture'].map((name) => join(folder, `test/tapes/${name}.tape`))
  const before = tapes.map((tape) => readFileSync(tape, 'base64'))
  await writeFile(
    join(folder, 'agent.mjs'),
    agent.replace(
      'const client',
      `console.log('starting', Date.now(), crypto.randomUUID())\n  const client`,
    ),
  )
  const { requests } = server
  const count = requests.length
  const tolerated = await runVitest(folder, server.env, ['-t', 'matcher|fixture'])
  expect(tolerated.tests).toMatchObject({
    [titles[0] ?? '']: 'passed',
    [titles[2] ?? '']: 'passed',
  })
  await writeFile(join(folder, 'agent.mjs'), agent.replace('+ text', "+ text.replace('7', '8')"))
  const updated = await runVitest(folder, server.env, ['-u', '-t', 'matcher|fixture'])
  expect(updated.tests).toMatchObject({ [titles[0] ?? '']: 'passed', [titles[2] ?? '']: 'passed' })
  expect(updated.text).toContain('fixture.tape was recorded again')
  const after = tapes.map((tape) => readFileSync(tape, 'base64'))
  expect(after[0]).toBe(before[0])
  expect(after[1]).not.toBe(before[1])
  expect(requests.length).toBe(count + 2)
})

test('a replay needs no key', async () => {
  soakOnly()
  const folder = await makeProject(projectFiles)
  const server = await startModel()
  await runVitest(folder, server.env, ['-t', 'matcher'])
  const { tests } = await runVitest(folder, { ...server.env, OPENAI_API_KEY: '' }, [
    '-t',
    'matcher',
  ])
  expect(tests[titles[0] ?? '']).toBe('passed')
})

test('in CI a missing tape fails without a request', async () => {
  soakOnly()
  const folder = await makeProject(projectFiles)
  const server = await startModel()
  const { code, tests } = await runVitest(folder, { ...server.env, CI: 'true' })
  expect(code).toBe(1)
  for (const title of titles) {
    const { failed } = tests[title] as { failed: string }
    expect(failed).toContain(`There is no tape ${folder}/test/tapes/`)
    expect(failed).toMatch(/why {2}.+\n {2}fix {2}.+\n {2}code TEST_TAPE_MISSING/)
  }
  expect(server.requests).toEqual([])
  expect(existsSync(join(folder, 'test/tapes'))).toBe(false)
})

test('modes: recording again keeps the old tape if the agent fails; offline never records; CI refuses a leftover record mode', async () => {
  soakOnly()
  const folder = await makeProject({
    ...projectFiles,
    'test/refund.test.mjs': `
import { expect, test } from 'retake/vitest'
import { agent } from '../agent.mjs'
test('plain', async () => {
  await expect(() => agent('order 1182')).toReplay('tapes/plain.tape')
})
`,
    'test/modes.test.mjs': `
import { expect, test } from 'retake/vitest'
import { agent } from '../agent.mjs'
test('offline by option', async () => {
  await expect(() => agent('x')).toReplay('tapes/offline.tape', { mode: 'offline' })
})
const offline = test.extend({ tapeMode: 'offline' })
offline('offline by fixture', async ({ tape }) => {
  await tape('tapes/offline.tape', () => agent('x'))
})
test('record by option', async ({ tape }) => {
  await tape('tapes/anew.tape', () => agent('x'), { mode: 'record' })
})
test('a mode that does not exist', async ({ tape }) => {
  await tape('tapes/anew.tape', () => agent('x'), { mode: 'rec' })
})
`,
  })
  const server = await startModel()
  const file = join(folder, 'test/tapes/plain.tape')
  const runPlain = (env: Readonly<Record<string, string>>) =>
    runVitest(folder, { ...server.env, ...env }, ['refund'])
  expect((await runPlain({})).tests).toEqual({ plain: 'passed' })
  const first = readFileSync(file)
  // A recording that was killed left this; no process has such a number.
  await mkdir(join(folder, 'test/tapes/.plain.tape.recording-99999999-abc'))
  expect((await runPlain({ RETAKE_MODE: 'record' })).tests).toEqual({ plain: 'passed' })
  expect(server.requests).toHaveLength(4)
  const second = readFileSync(file)
  expect(second.equals(first)).toBe(false)

  const modes = await runVitest(folder, { ...server.env, RETAKE_MODE: '' }, ['modes'])
  const missing = { failed: expect.stringContaining('TEST_TAPE_MISSING') as string }
  expect(modes.tests).toEqual({
    'offline by option': missing,
    'offline by fixture': missing,
    'record by option': 'passed',
    'a mode that does not exist': {
      failed: expect.stringContaining('TEST_MODE_UNKNOWN') as string,
    },
  })
  const inCi = await runVitest(folder, { ...server.env, CI: '1' }, ['modes'])
  expect(inCi.tests['record by option']).toEqual({
    failed: expect.stringContaining('TEST_RECORDS_IN_CI') as string,
  })
  const wished = await runVitest(folder, { ...server.env, RETAKE_MODE: 'record' }, ['modes'])
  expect(wished.tests['offline by option']).toEqual(missing)
  const asked = server.requests.length

  await server.stop()
  const { tests } = await runPlain({ RETAKE_MODE: 'record' })
  expect(tests['plain']).toEqual({
    failed: expect.stringContaining('code TEST_RECORDING_THREW') as string,
  })
  expect(readFileSync(file).equals(second)).toBe(true)
  expect(readdirSync(join(folder, 'test/tapes')).toSorted()).toEqual(['anew.tape', 'plain.tape'])
  expect(server.requests).toHaveLength(asked)
})

test('keys that are sent and keys of the environment are not on the tape', async () => {
  soakOnly()
  const folder = await makeProject({
    ...projectFiles,
    'test/refund.test.mjs': `
import { expect, test } from 'retake/vitest'
import { agent } from '../agent.mjs'
test('keys', async ({ tape }) => {
  const { output } = await tape('tapes/keys.tape', () => agent(process.env.MY_SERVICE_TOKEN))
  expect(output.answer).toContain(process.env.EXPECTED)
})
`,
  })
  const server = await startModel()
  const secret = () => `sk-${randomBytes(24).toString('hex')}`
  const keys = { OPENAI_API_KEY: secret(), MY_SERVICE_TOKEN: secret() }
  const env = { ...server.env, ...keys }
  const { tests } = await runVitest(folder, { ...env, EXPECTED: keys.MY_SERVICE_TOKEN })
  expect(tests).toEqual({ keys: 'passed' })
  expect(server.requests[0]?.headers['authorization']).toBe(`Bearer ${keys.OPENAI_API_KEY}`)
  const file = join(folder, 'test/tapes/keys.tape')
  const bytes = readFileSync(file)
  const tape = openTape(file)
  for (const key of Object.values(keys)) {
    expect(bytes.includes(key)).toBe(false)
    for (let seq = 0; seq < tape.count; seq += 1) {
      expect(JSON.stringify(tape.event(seq))).not.toContain(key)
      expect(Buffer.from(tape.body(seq)).includes(key)).toBe(false)
    }
  }
})

test('tapes that cannot be replayed say why, and other endings are reported', async () => {
  soakOnly()
  const folder = await makeProject({
    ...projectFiles,
    'test/refund.test.mjs': `
import { expect, test } from 'retake/vitest'
import { vi } from 'vitest'
import { agent } from '../agent.mjs'
const replayed = (name) => test(name, async () => {
  await expect(() => agent('order 1182')).toReplay('tapes/' + name + '.tape')
})
for (const name of ['good', 'cut-off', 'changed', 'empty', 'text', 'future', 'process', 'script']) replayed(name)
test('not', async () => {
  await expect(() => agent('something else')).not.toReplay('tapes/good.tape')
})
test('not, but the same', async () => {
  await expect(() => agent('order 1182')).not.toReplay('tapes/good.tape')
})
test('another output', async ({ tape }) => {
  await tape('tapes/good.tape', async () => ({ ...(await agent('order 1182')), more: 1 }))
})
test('a started agent', async () => {
  await expect(Promise.resolve('done')).toReplay('tapes/good.tape')
})
test('an agent that is meant to throw', async ({ tape }) => {
  const refuse = async () => {
    await agent('x')
    throw new RangeError('no')
  }
  await expect(tape('tapes/throws.tape', refuse, { throws: true })).rejects.toThrow(RangeError)
  await expect(refuse).toReplay('tapes/throws.tape', { throws: true })
})
test('fake timers', async ({ tape }) => {
  vi.useFakeTimers({ toFake: ['Date'], now: 86_400_000 })
  const { output } = await tape('tapes/fake.tape', () => agent('x'))
  vi.useRealTimers()
  expect(output.at.toISOString()).toBe('1970-01-02T00:00:00.000Z')
})
`,
  })
  const server = await startModel()
  await runVitest(folder, server.env, ['-t', 'good|throw|fake'])
  // Recorded outside of Vitest, where what is logged goes to stdout.
  await writeFile(
    join(folder, 'script.mjs'),
    `import { record } from 'retake'
import { agent } from './agent.mjs'
console.log(JSON.stringify(await record({ name: 'x', dir: 'runs' }, () => agent('order 1182'))))`,
  )
  const script = await runLibrary(join(folder, 'script.mjs'), null, {
    cwd: folder,
    env: server.env,
  })
  const { run: scriptRun } = script.result as { run: { path: string } }
  await server.stop()
  const tapes = join(folder, 'test/tapes')
  const good = await readFile(join(tapes, 'good.tape'))
  const put = (name: string, bytes: Uint8Array | string) =>
    writeFileSync(join(tapes, `${name}.tape`), bytes)
  put('cut-off', good)
  await truncate(join(tapes, 'cut-off.tape'), Math.trunc(good.length / 2))
  const at = good.indexOf('Refunds within')
  put('changed', Buffer.from(good).fill('X', at, at + 7))
  put('empty', '')
  put('script', readFileSync(scriptRun.path))
  put('text', 'not a tape at all, but a text\n')
  await cp(new URL('../golden/from-the-future.tape', import.meta.url), join(tapes, 'future.tape'))
  await writeFile(join(folder, 'program.mjs'), 'console.log(1)')
  await run(process.execPath, [cli, 'record', '--dir', 'processes', 'program.mjs'], folder)
  const names = readdirSync(join(folder, 'processes'))
  const program = names.find((name) => name.endsWith('.tape')) ?? ''
  await cp(join(folder, 'processes', program), join(tapes, 'process.tape'))
  const { tests } = await runVitest(folder, { ...server.env, CI: 'true' })
  const failing = (code: string) => ({ failed: expect.stringContaining(code) as string })
  expect(tests).toEqual({
    good: 'passed',
    'cut-off': failing('code TEST_TAPE_CUT_OFF'),
    changed: failing('code TAPE_CORRUPT'),
    empty: failing('code TAPE_EMPTY'),
    text: failing('code TAPE_NOT_A_TAPE'),
    future: failing('code TAPE_FROM_FUTURE'),
    process: failing('code TEST_TAPE_OF_PROCESS'),
    script: 'passed',
    not: 'passed',
    'not, but the same': failing('but should differ'),
    'another output': failing('The run ended differently'),
    'a started agent': failing('code TEST_NOT_AN_AGENT'),
    'an agent that is meant to throw': 'passed',
    'fake timers': 'passed',
  })
})

test('a program is recorded and replayed in its own process, also in another folder', async () => {
  soakOnly()
  const program = `
const model: string = 'gpt-4o-mini'
const response = await fetch(process.env.OPENAI_BASE_URL + '/chat/completions', {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ model, messages: [{ role: 'user', content: 'order ' + Math.random() }] }),
})
console.log((await response.json()).choices[0].message.content)
`
  const files = {
    ...projectFiles,
    'program.ts': program,
    'fails.mjs': 'process.exitCode = 4',
    'test/refund.test.mjs': `
import { expect, test } from 'retake/vitest'
test('program', async () => {
  await expect('../program.ts').toReplay('tapes/program.tape')
})
test('fails', async () => {
  await expect(new URL('../fails.mjs', import.meta.url)).toReplay('tapes/fails.tape')
})
test('meant to fail', async () => {
  await expect('../fails.mjs').toReplay('tapes/meant.tape', { throws: true })
})
test('another program', async () => {
  await expect('../fails.mjs').toReplay('tapes/program.tape')
})
test('not', async () => {
  await expect('../program.ts').not.toReplay('tapes/program.tape')
})
`,
  }
  const folder = await makeProject(files)
  const server = await startModel()
  const failing = (text: string) => ({ failed: expect.stringContaining(text) as string })
  const mistakes = {
    'another program': failing('code TEST_TAPE_OF_FUNCTION'),
    not: failing('but should differ'),
    'meant to fail': 'passed',
  }
  const recorded = await runVitest(folder, server.env)
  const failed = failing('it ended with exit code 4')
  expect(recorded.tests).toEqual({ ...mistakes, program: 'passed', fails: failed })
  await server.stop()
  const missing = failing('code TEST_TAPE_MISSING')
  const again = await runVitest(folder, { ...server.env, CI: '1' })
  expect(again.tests).toEqual({ ...mistakes, program: 'passed', fails: missing })

  const elsewhere = await makeProject(files)
  await rename(join(folder, 'test/tapes'), join(elsewhere, 'test/tapes'))
  await rm(folder, { recursive: true })
  const moved = await runVitest(elsewhere, { CI: '1' })
  expect(moved.tests).toEqual({ ...mistakes, program: 'passed', fails: missing })
  await writeFile(join(elsewhere, 'program.ts'), program.replace('order ', 'refund '))
  const changed = await runVitest(elsewhere, { CI: '1' }, ['-t', 'program'])
  expect(changed.tests['program']).toEqual(failing('- "order'))
  expect(changed.tests['program']).toEqual(failing(`at ${join(elsewhere, 'program.ts')}:3:24`))
})
