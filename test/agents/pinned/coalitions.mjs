// Records an agent of three concurrent lanes, then runs it again with random steps held and
// the others answered in turn by the plan, by a simulator and live. Prints as JSON where
// the agent saw something else than it should have, and what a provider was asked.
//
//     node coalitions.mjs <fetch|stream|http|http2> <conversation|prompt> <forks> <folder>
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import http from 'node:http'
import { forkPinned, record, tool } from '@retake/engine'
import { searchableSteps } from '@retake/engine/plans'
import { openTape } from '@retake/tape/node'
import { clientFor, startModel } from './model.mjs'

const [seam, style, forks, dir] = process.argv.slice(2)
const model = await startModel()
let ask
const LANES = ['ada', 'bob', 'cyd']
const SYSTEM = 'You work in a lane of your own.'

let toolCalls = 0
let seen = {}
const look = tool('look', async ({ query }) => {
  toolCalls += 1
  return { found: `${query.length} live ${toolCalls}` }
})
const wait = () => new Promise((done) => setTimeout(done, Math.random() * 4))

async function lane(name, goal) {
  const messages = [{ role: 'user', content: `Lane ${name}: ${goal}.` }]
  let last = goal
  for (let round = 1; round <= 3; round += 1) {
    await wait()
    const prompt = `Lane ${name}, round ${round}. So far: ${last}`
    const asked = style === 'prompt' ? [{ role: 'user', content: prompt }] : messages
    last = await ask([{ role: 'system', content: SYSTEM }, ...asked])
    seen[`${name}${round}`] = last
    messages.push({ role: 'assistant', content: last }, { role: 'user', content: 'Go on.' })
    if (round !== 2) continue
    await wait()
    // The tool is not told which lane it works for.
    const { found } = await look({ query: last })
    seen[`${name}tool`] = found
    last = found
    messages.push({ role: 'user', content: found })
  }
  return last
}

async function agent() {
  seen = {}
  // A client of its own: another run's connections are not this one's.
  ask = clientFor(seam, model)
  const plan = await ask([{ role: 'user', content: 'Make a plan.' }])
  seen['plan'] = plan
  const done = await Promise.all(LANES.map((name) => lane(name, plan)))
  const summary = await ask([{ role: 'user', content: `Sum up: ${done.join(', ')}` }])
  seen['summary'] = summary
  return { ...seen }
}

const { run, output: recorded } = await record({ name: 'lanes', dir }, agent)
const sha = () => createHash('sha256').update(readFileSync(run.path)).digest('hex')
const before = sha()
const steps = searchableSteps(openTape(run.path))
const keyOf = Object.fromEntries(
  steps.map((step) => {
    const texts = Object.entries(recorded)
    const said = step.kind === 'tool' ? step.call().result.found : textOf(step)
    return [step.label, texts.find(([, text]) => text === said)?.[0]]
  }),
)

function textOf(step) {
  return step
    .answer()
    .flatMap(({ parts = [], content }) => [content, ...parts])
    .map((part) => part?.text ?? part)
    .find((part) => typeof part === 'string')
}

let random = 12345
const chance = () => (random = (random * 1103515245 + 12345) % 2147483648) / 2147483648

const wrong = []
let live = 0
let asked = 0
for (let fork = 0; fork < Number(forks); fork += 1) {
  const share = chance()
  const kept = steps.map(({ label }) => label).filter(() => chance() < share)
  const source = ['answers', 'simulator', 'live'][fork % 3]
  const expected = (label) => `${source} ${fork} ${keyOf[label]} ${'x'.repeat(fork % 7)}`
  const payload = (step, text) => (step.kind === 'tool' ? { found: text } : model.answerOf(text))
  const free = steps.filter(({ label }) => !kept.includes(label))
  const answers = Object.fromEntries(
    free.map((step) => [step.label, { payload: payload(step, expected(step.label)) }]),
  )
  const simulator = async (step) => {
    await new Promise((done) => setTimeout(done, Math.random() * 3))
    return step.label === undefined
      ? { error: `no such step: ${JSON.stringify(step)}` }
      : answers[step.label]
  }
  const before = { requests: model.requests.length, toolCalls }
  const result = await forkPinned(run.path, agent, {
    pinned: kept,
    mode: 'free',
    seed: fork,
    ...(source === 'answers' && { answers }),
    ...(source === 'simulator' && { simulator }),
  }).catch((error) => ({ error: String(error?.stack ?? error) }))
  const requests = model.requests.length - before.requests
  const calls = toolCalls - before.toolCalls
  const report = result.pinned ?? { live: 0, unmatched: 0, forced: [], matched: {} }
  const tell = (what) =>
    wrong.push(`fork ${fork} (${source}, kept ${kept.map((l) => keyOf[l])}): ${what}`)
  if (result.error) tell(result.error)
  if (report.unmatched !== 0) tell(`${report.unmatched} unmatched`)
  if (requests + calls !== report.live)
    tell(`${requests} + ${calls} asked, ${report.live} reported`)
  if (source !== 'live' && report.live !== 0) tell(`${report.live} live`)
  if (source === 'live' && report.live !== free.length)
    tell(`${report.live} live of ${free.length}`)
  for (const { label } of steps) {
    const key = keyOf[label]
    const got = result.output?.[key]
    const isRecorded = got === recorded[key]
    if (kept.includes(label) && !isRecorded) tell(`${key} saw ${got}`)
    if (kept.includes(label)) continue
    if (source === 'live' ? isRecorded : got !== expected(label)) tell(`free ${key} saw ${got}`)
  }
  live += report.live
  asked += requests + calls
}
const keys = Object.values(keyOf)
console.log(
  JSON.stringify({
    steps: steps.length,
    keys: new Set(keys.filter(Boolean)).size,
    wrong: wrong.slice(0, 5),
    wrongCount: wrong.length,
    live,
    asked,
    isUnchanged: sha() === before,
  }),
)
model.close()
http.globalAgent.destroy()
