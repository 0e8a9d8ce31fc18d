import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { SecretMask } from '@retake/engine/hook'
import { startLoopbackServer } from './measure/start-loopback-server.mjs'
import { median, pairedRatio } from './measure/statistics.mjs'
import { withTemporaryFolder } from './measure/temporary-folder.mjs'

const nativeNow = performance.now.bind(performance)
const { record } = await import('@retake/engine')

/**
 * The cost of hiding secrets: exchanges per second that are recorded with the redactor, divided by
 * those without it, in a process with ten secret variables. And its false positives: lines of code
 * and prose that it changes.
 *
 * @param {{ quick: boolean }} options
 * @returns {Promise<import('./measure/row.mjs').Row[]>}
 */
export async function measure({ quick }) {
  for (let at = 0; at < 10; at++)
    process.env[`BENCH_${at}_SECRET`] = `${'planted'.repeat(3)}-${at}-${process.pid}`
  const server = await startLoopbackServer()
  try {
    return await withTemporaryFolder(async (dir) => {
      const rows = [falsePositives()]
      for (const durability of ['machine', 'process']) {
        const ask = () => askForJson(server.url)
        const times = await compare(dir, ask, { rounds: quick ? 4 : 60, durability })
        rows.push({
          name: `recorded exchanges per second, with redaction / without, durability '${durability}'`,
          ...(durability === 'machine' && { gate: { min: 0.9 } }),
          ratio: pairedRatio(times.without, times.with),
          method: `POST of 8 KB, answer of 1 KB; median of ${times.with.length} pairs of rounds of 25; ${median(times.with).toFixed(3)} ms against ${median(times.without).toFixed(3)} ms`,
        })
      }
      const rules = ['email', 'phone', 'card', 'iban', 'id']
      const personal = await compare(dir, () => askForJson(server.url), {
        rounds: quick ? 4 : 30,
        durability: 'machine',
        redact: rules,
      })
      rows.push({
        name: 'the same with rules for personal data, durability machine',
        ratio: pairedRatio(personal.without, personal.with),
        method: `rules ${rules.join(', ')}; nothing matches; ${median(personal.with).toFixed(3)} ms against ${median(personal.without).toFixed(3)} ms`,
      })
      return rows
    })
  } finally {
    await server.stop()
  }
}

/** Lines that the redactor changes in texts that every clone has. Tests contain planted secrets. */
function falsePositives() {
  const mask = new SecretMask()
  let [lines, changed] = [0, 0]
  const files = [
    ...filesIn('docs', /\.md$/),
    ...filesIn('packages', /[\\/]src[\\/].*(?<!\.test)\.tsx?$/),
    ...filesIn('node_modules', /[\\/](?:readme|changelog|history)\.md$|[\\/]index\.d\.ts$/i),
  ]
  for (const file of files)
    for (const line of readFileSync(file, 'utf8').split('\n')) {
      lines += 1
      if (mask.text(line) !== line) changed += 1
    }
  return {
    name: 'lines of code and prose that the redactor changes / all lines',
    gate: { max: 5e-5 },
    ratio: changed / lines,
    method: `${changed} of ${lines} lines: docs and sources of this repository, and READMEs, changelogs and type declarations of its dependencies`,
  }
}

const filesIn = (folder, named) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name, parentPath, path }) => join(parentPath ?? path, name))
    .filter((file) => named.test(file))

/** Each method of the redactor returns one of its arguments if there is none. */
const GIVEN = { text: 0, bytes: 0, body: 1, named: 1 }
let isOn = true
// Replaced once: code that uses a prototype is compiled again whenever that changes.
for (const [name, given] of Object.entries(GIVEN)) {
  const redact = SecretMask.prototype[name]
  SecretMask.prototype[name] = function (...args) {
    return isOn ? redact.apply(this, args) : args[given]
  }
}

async function compare(dir, exchange, { rounds, durability, redact = [] }) {
  const times = { with: [], without: [] }
  const run = (way, isWarmUp) => {
    isOn = way === 'with'
    const rules = isOn && redact.length > 0 ? { redact } : {}
    return record({ name: 'bench', dir, durability, ...rules }, async () => {
      const each = []
      for (let count = 0; count < 25; count++) {
        const started = nativeNow()
        await exchange()
        each.push(nativeNow() - started)
      }
      if (!isWarmUp) times[way].push(median(each))
    })
  }
  for (let round = -20; round < rounds; round++)
    for (const way of round % 2 === 0 ? ['with', 'without'] : ['without', 'with'])
      await run(way, round < 0)
  return times
}

const history = Array.from({ length: 8 }, (_, at) => ({
  role: at % 2 === 0 ? 'user' : 'assistant',
  content: 'What does the refund policy say about orders that were cancelled? '.repeat(15),
  tool_call_id: `call_${'aB3dE6gH9'.repeat(3)}${at}`,
}))
let questions = 0

async function askForJson(url) {
  const messages = [...history, { role: 'user', content: `And for order ${questions++}?` }]
  const response = await fetch(`${url}/json`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: 'Bearer none' },
    body: JSON.stringify({ model: 'gpt-example', messages }),
  })
  return response.json()
}
