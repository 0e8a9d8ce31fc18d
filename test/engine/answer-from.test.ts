import { randomUUID } from 'node:crypto'
import { mkdtemp, rm, writeFile, readFile } from 'node:fs/promises'
import dgram from 'node:dgram'
import { Agent, createServer, request as httpRequest } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { answerFrom, openTape, readRun, record, replay, tool } from 'retake'

let folder: string
let url: string
let asked = 0
/** Counts up, so that no two answers are alike. */
const server = createServer((request, response) => {
  let text = ''
  request.on('data', (chunk) => (text += chunk))
  request.on('end', () => response.end(`${text} is answer ${++asked}`))
})

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'retake-answer-from-'))
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
})
afterAll(async () => {
  server.close()
  await rm(folder, { recursive: true, force: true })
})

const ask = async (question: string) =>
  (await fetch(url, { method: 'POST', body: question })).text()

const askOverHttp = (question: string, agent: Agent | false = false) =>
  new Promise<string>((resolve, reject) => {
    const request = httpRequest(url, { method: 'POST', agent }, (response) => {
      let text = ''
      response.on('data', (chunk) => (text += chunk))
      response.on('end', () => resolve(text))
    })
    request.on('error', reject).end(question)
  })

let sent = 0
const send = tool('send', async (to: string) => `${to} ${++sent}`)

const recordAgent = async () => {
  const { run, output } = await record({ name: 'agent', dir: folder }, async () => [
    await ask('one'),
    await ask('two'),
    await ask('one'),
    await askOverHttp('three'),
    await send('anna'),
    await ask(`id ${randomUUID()}`),
  ])
  return { run, output, before: asked, sentBefore: sent }
}

test('another program gets answers by request content, in any order, and sends nothing', async () => {
  const { run, output, before, sentBefore } = await recordAgent()
  const file = join(folder, 'note.txt')
  const { served, live, ...answered } = await answerFrom(
    run.path,
    async () => {
      const last = await ask(`id ${randomUUID()}`)
      await writeFile(file, 'files are real')
      await new Promise((done) => setTimeout(done, 5))
      const [three, two, anna] = await Promise.all([askOverHttp('three'), ask('two'), send('anna')])
      return [await ask('one'), two, await ask('one'), three, anna, last]
    },
    { dir: folder },
  )
  expect(answered.output).toEqual(output)
  // What was sent all the same would have arrived by then.
  await new Promise((done) => setTimeout(done, 100))
  expect([served, live, asked - before, sent - sentBefore]).toEqual([6, 0, 0, 0])
  expect(await readFile(file, 'utf8')).toBe('files are real')
  // What happened is a run of its own.
  expect(readRun(openTape(answered.run.path)).steps).toHaveLength(6)
})

test('requests repeated more often than recorded get the answers from the start again', async () => {
  const { run, output, before } = await recordAgent()
  const answers = await answerFrom(
    run.path,
    async () => [await ask('one'), await ask('one'), await ask('one')],
    { dir: folder },
  )
  expect(answers.output).toEqual([output[0], output[2], output[0]])
  expect(asked).toBe(before)
})

test('a run that was answered by a tape replays without that tape', async () => {
  const { run, output } = await recordAgent()
  const agent = () => ask('two')
  const answered = await answerFrom(run.path, agent, { dir: folder })
  await rm(run.path)
  expect((await replay(answered.run.path, agent)).output).toBe(output[1])
})

test.each([
  ['fetch', ask],
  ['node:http', askOverHttp],
  ['a tool', send],
])('a request that is not on the tape is named and not sent: %s', async (_how, use) => {
  const { run, before, sentBefore } = await recordAgent()
  const error = answerFrom(run.path, () => use('four'), { dir: folder })
  await expect(error).rejects.toMatchObject({
    code: 'ANSWER_NOT_ON_TAPE',
    message: expect.stringMatching(/(POST http:\/\/127|send).*differs in/),
  })
  await new Promise((done) => setTimeout(done, 100))
  expect([asked - before, sent - sentBefore]).toEqual([0, 0])
})

test('work that continues after a stop or the end sends nothing', async () => {
  const { run, before, sentBefore } = await recordAgent()
  const later = async () => {
    await new Promise((done) => setTimeout(done, 30))
    await Promise.all([ask('one'), ask('five'), askOverHttp('three'), send('anna'), send('bob')])
  }
  const stopped = answerFrom(run.path, () => Promise.all([ask('four'), later()]), { dir: folder })
  await expect(stopped).rejects.toMatchObject({ code: 'ANSWER_NOT_ON_TAPE' })
  await answerFrom(run.path, () => void later(), { dir: folder })
  await new Promise((done) => setTimeout(done, 200))
  expect([asked - before, sent - sentBefore]).toEqual([0, 0])
})

test('missing requests go live if allowed, and only those', async () => {
  const { run, output, before } = await recordAgent()
  const { served, live, ...answered } = await answerFrom(
    run.path,
    async () => [await ask('two'), await ask('four'), await ask('two')],
    { dir: folder, otherwise: 'live' },
  )
  expect(answered.output).toEqual([output[1], `four is answer ${before + 1}`, output[1]])
  expect([served, live, asked - before]).toEqual([2, 1, 1])
})

test('a live request on a recorded connection is really sent, and only that', async () => {
  const askAll = async (questions: readonly string[]) => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    const answers: string[] = []
    for (const question of questions) answers.push(await askOverHttp(question, agent))
    agent.destroy()
    return answers
  }
  const { run, output } = await record({ name: 'agent', dir: folder }, () => askAll(['one', 'two']))
  const before = asked
  const answered = await answerFrom(run.path, () => askAll(['two', 'three', 'one']), {
    dir: folder,
    otherwise: 'live',
  })
  expect(answered.output).toEqual([output[1], `three is answer ${before + 1}`, output[0]])
  expect([answered.served, answered.live, asked - before]).toEqual([2, 1, 1])
})

test('threads and datagrams reach nothing outside', async () => {
  const { run } = await record({ name: 'agent', dir: folder }, () => ask('one'))
  const before = asked
  const code = `fetch(${JSON.stringify(url)}).then(() => process.exit())`
  const inThread = () =>
    new Promise((resolve) => new Worker(code, { eval: true }).on('exit', resolve))
  await expect(answerFrom(run.path, inThread, { dir: folder })).rejects.toMatchObject({
    code: 'ANSWER_NOT_ON_TAPE',
  })
  await expect(
    answerFrom(run.path, () => dgram.createSocket('udp4').close(), { dir: folder }),
  ).rejects.toMatchObject({ code: 'BOUNDARY_NOT_REPLAYABLE' })
  expect(asked).toBe(before)
})

test('a step in doubt stops the run with an error that names it', async () => {
  const { run } = await record({ name: 'agent', dir: folder }, async () => send('berta'))
  const whole = await readFile(run.path)
  const call = [...openTape(run.path).events()].find(({ type }) => type === 'call')
  const end = whole.indexOf(`{"seq":${(call?.seq ?? 0) + 1},`)
  const cut = join(folder, 'cut.tape')
  await writeFile(cut, whole.subarray(0, end))
  expect(openTape(cut).status).toBe('truncated')
  const before = sent
  for (const otherwise of ['fail', 'live'] as const)
    await expect(
      answerFrom(cut, () => send('berta'), { dir: folder, otherwise }),
    ).rejects.toMatchObject({ code: 'STEP_IN_DOUBT' })
  expect(sent).toBe(before)
}, 20_000)
