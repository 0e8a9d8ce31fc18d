// Forks of small agents with some steps held, one case after the other, in one process.
// Prints by case what the agent saw and what the report says, as JSON.
//
//     node cases.mjs <folder>
import { execFile, execFileSync } from 'node:child_process'
import http from 'node:http'
import { promisify } from 'node:util'
import { forkPinned, record, replay, tool } from '@retake/engine'
import { planPinned, searchableSteps } from '@retake/engine/plans'
import { guard } from '@retake/guard'
import { openTape } from '@retake/tape/node'
import { clientFor, startModel } from './model.mjs'

const [dir] = process.argv.slice(2)
const model = await startModel()
const found = {}
const labelsOf = (run) => searchableSteps(openTape(run.path)).map(({ label }) => label)
const without = (run, ...free) => labelsOf(run).filter((label) => !free.includes(label))
const fork = (run, agent, options) =>
  forkPinned(run.path, agent, { mode: 'free', seed: 1, pinned: [], ...options })

// ── a conversation whose length depends on what is said ─────────────────────
{
  let ran = 0
  const look = tool('look', ({ query }) => ({ ran: ++ran, query }))
  const agent = (seam) => async () => {
    const ask = clientFor(seam, model)
    const messages = [{ role: 'user', content: 'Begin.' }]
    const seen = []
    for (let round = 1; round <= 3 || (seen.at(-2) === 'more' && round <= 4); round += 1) {
      const text = await ask(messages)
      const { query } = await look({ query: text })
      seen.push(text, query)
      messages.push({ role: 'assistant', content: text }, { role: 'user', content: query })
    }
    return seen
  }
  for (const seam of ['fetch', 'http']) {
    const { run, output } = await record({ name: 'loop', dir }, agent(seam))
    const before = { ran, asked: model.requests.length }
    const frozen = await fork(run, agent(seam), { mode: 'frozen', pinned: without(run, '1', '5') })
    const asked = model.requests.slice(before.asked)
    const questions = searchableSteps(openTape(run.path)).filter(({ kind }) => kind === 'model')
    found[`frozen ${seam}`] = {
      asked,
      recorded: [0, 2].map((at) => questions[at].exchange().request.json),
      isOther: [0, 4].map((at) => frozen.output[at] !== output[at]),
      kept: [1, 2, 3, 5].map((at) => frozen.output[at] === output[at]),
      ran: ran - before.ran,
      report: frozen.pinned,
    }
    const more = { payload: model.answerOf('more') }
    const longer = await fork(run, agent(seam), { pinned: without(run, '5'), answers: { 5: more } })
    found[`longer ${seam}`] = {
      seen: longer.output.length,
      report: longer.pinned,
      last: output[5] === longer.output[5],
    }
    const replayed = await replay(longer.run.path, agent(seam))
    found[`longer ${seam}`].replays =
      JSON.stringify(replayed.output) === JSON.stringify(longer.output)
  }
  const { run, output } = await record({ name: 'loop', dir }, agent('fetch'))
  const outcomes = new Set()
  for (let time = 0; time < 20; time += 1) {
    const simulator = ({ label, kind, request }) =>
      kind === 'tool'
        ? { payload: { query: `for ${label}` } }
        : { payload: model.answerOf(`${JSON.stringify(request).length}`) }
    const { output: seen } = await fork(run, agent('fetch'), { simulator, pinned: ['3'] })
    outcomes.add(JSON.stringify(seen))
  }
  found.outcomes = outcomes.size
  const asked = model.requests.length
  found.replay = {
    isSame:
      JSON.stringify((await fork(run, agent('fetch'), { pinned: labelsOf(run) })).output) ===
      JSON.stringify(output),
    asked: model.requests.length - asked,
  }
  const simulator = () => {
    throw new Error('out of ideas')
  }
  found.broken = await fork(run, agent('fetch'), { simulator }).catch(({ code, why }) => ({
    code,
    why,
  }))
  const failing = { 3: { error: 'no line' }, 4: { error: 'no tool' } }
  found.failing = await fork(run, agent('fetch'), {
    pinned: without(run, '3'),
    answers: failing,
  }).catch((error) => [error.message, error.cause?.message])
  found.failingTool = await fork(run, agent('fetch'), {
    pinned: without(run, '4'),
    answers: failing,
  }).catch((error) => error.message)
  found.unknown = refusal(() =>
    planPinned(openTape(run.path), { pinned: ['99'], mode: 'free', seed: 1 }),
  )
}

// ── connections that are opened after the tape was left, and nobody there ────
{
  const begin = tool('begin', () => Math.random())
  for (const seam of ['fetch', 'http', 'http2']) {
    const gone = await startModel()
    const agent = async () => {
      const chance = await begin()
      const ask = clientFor(seam, gone)
      return [chance, await ask([{ role: 'user', content: `Begin with ${chance}.` }])]
    }
    const { run, output } = await record({ name: 'gone', dir }, agent)
    gone.close()
    const { output: seen, pinned } = await fork(run, agent, { pinned: ['2'] })
    found[`gone ${seam}`] = { same: seen.map((one, at) => one === output[at]), live: pinned.live }
  }
}

// ── a lane that goes on longer beside another ────────────────────────────────
{
  const pass = tool('pass', (text) => text)
  const agent = (seam) => async () => {
    const ask = clientFor(seam, model)
    const lane = async (name, turns, waitMs) => {
      const messages = [{ role: 'user', content: `${name} alone` }]
      const seen = []
      for (let turn = 1; turn <= turns || seen.at(-1) === 'more'; turn += 1) {
        if (turn > 1) await new Promise((done) => setTimeout(done, waitMs))
        seen.push(await pass(await ask(messages)))
        messages.push({ role: 'assistant', content: seen.at(-1) }, { role: 'user', content: 'On.' })
      }
      return seen
    }
    return Promise.all([lane('Ann', 2, 0), lane('Ben', 4, 15)])
  }
  for (const seam of ['fetch', 'http']) {
    const { run, output } = await record({ name: 'longer lane', dir }, agent(seam))
    const steps = searchableSteps(openTape(run.path))
    const free = steps.find((step) => step.kind === 'tool' && step.call().result === output[0][1])
    const answers = { [free.label]: { payload: 'more' } }
    const { output: seen, pinned } = await fork(run, agent(seam), {
      pinned: without(run, free.label),
      answers,
    })
    const isBenKept = JSON.stringify(seen[1]) === JSON.stringify(output[1])
    found[`longer lane ${seam}`] = {
      ann: seen[0].length,
      isBenKept,
      unmatched: pinned.unmatched,
      live: pinned.live,
    }
  }
}

// ── guarded tools ───────────────────────────────────────────────────────────
{
  let ran = 0
  const agent = async () => {
    const tools = guard({
      name: 'few',
      policy: { name: 'any', rules: [{ allow: '*' }] },
      limits: { calls: 3, concurrency: 1 },
    })
    tools.tool('draw', ({ n }) => ({ n, ran: ++ran, chance: Math.random() }))
    const seen = []
    for (let n = 1; n <= 3; n += 1)
      seen.push((await tools.call('draw', { n, last: seen.at(-1)?.chance })).output)
    return seen
  }
  const { run, output } = await record({ name: 'guarded', dir }, agent)
  ran = 0
  const { output: seen, pinned } = await fork(run, agent, { pinned: ['2'] })
  found.guarded = {
    ran,
    same: seen.map((one, at) => one?.chance === output[at].chance),
    forced: pinned.forced,
    live: pinned.live,
  }
}

// ── a server of the Model Context Protocol over HTTP ────────────────────────
{
  let calls = 0
  const server = http.createServer((request, response) => {
    const chunks = []
    request.on('data', (chunk) => chunks.push(chunk))
    request.on('end', () => {
      const { id, method } = JSON.parse(Buffer.concat(chunks))
      if (method === 'tools/call') calls += 1
      const result =
        method === 'initialize'
          ? {
              protocolVersion: '2025-06-18',
              capabilities: {},
              serverInfo: { name: 'shop', version: '1' },
            }
          : { content: [{ type: 'text', text: `call ${calls}` }] }
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ jsonrpc: '2.0', id, result }))
    })
  })
  await new Promise((done) => server.listen(0, '127.0.0.1', done))
  const url = `http://127.0.0.1:${server.address().port}/mcp`
  const agent = async () => {
    let id = 0
    const ask = async (method, params) => {
      id += 1
      const headers = {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      }
      const body = JSON.stringify({ jsonrpc: '2.0', id, method, params })
      const answer = await (await fetch(url, { method: 'POST', headers, body })).json()
      if (answer.id !== id) throw new Error(`asked ${id}, answered ${answer.id}`)
      return answer.result
    }
    const call = async (name) => (await ask('tools/call', { name, arguments: {} })).content[0].text
    await ask('initialize', {
      protocolVersion: '2025-06-18',
      capabilities: {},
      clientInfo: { name: 'a', version: '1' },
    })
    const seen = [await call('look')]
    if (seen[0] === 'twice') seen.push(await call('extra'))
    return [...seen, await call('buy')]
  }
  const { run, output } = await record({ name: 'mcp', dir }, agent)
  calls = 0
  const look = { 2: { payload: { content: [{ type: 'text', text: 'twice' }] } } }
  const { output: seen, pinned } = await fork(run, agent, {
    pinned: without(run, '2'),
    answers: look,
  })
  found.mcp = {
    labels: labelsOf(run),
    calls,
    seen,
    bought: seen.at(-1) === output.at(-1),
    unmatched: pinned.unmatched,
  }
  server.close()
  server.closeAllConnections()
}

// ── processes ───────────────────────────────────────────────────────────────
{
  const node = (code) => promisify(execFile)(process.execPath, ['-e', code])
  const agent = async () => {
    const first = (await node('console.log("one", Math.random())')).stdout
    const second = execFileSync(process.execPath, ['-e', 'console.log("two", Math.random())'], {
      encoding: 'utf8',
    })
    const child = node(
      'process.stdin.on("data", (text) => console.log(String(text), Math.random()))',
    )
    child.child.stdin.end(`three, after ${second.length}`)
    return [first, second, (await child).stdout]
  }
  const { run, output } = await record({ name: 'processes', dir }, agent)
  const same = (seen) => seen.map((text, at) => text === output[at])
  found.processes = {
    first: same((await fork(run, agent, { pinned: ['2', '3'] })).output),
    second: same((await fork(run, agent, { pinned: ['1', '3'] })).output),
    third: same((await fork(run, agent, { pinned: ['1', '2'] })).output),
    given: (
      await fork(run, agent, {
        answers: {
          1: { payload: 'a\n' },
          2: { payload: { stdout: 'b\n' } },
          3: { payload: 'c\n' },
        },
      })
    ).output,
  }
}

function refusal(act) {
  try {
    act()
  } catch ({ code }) {
    return code
  }
}

console.log(JSON.stringify(found, null, 1))
model.close()
