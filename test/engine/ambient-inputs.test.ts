import { mkdtempSync, rmSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { planPinned, searchableSteps } from '@retake/engine/plans'
import { openTape } from '@retake/tape/node'
import { expect, onTestFinished, test, vi } from 'vitest'
import { continueAgent } from '../../packages/runner/dist/agent/continue-agent.js'
import { replayAgent } from '../../packages/runner/dist/agent/replay-agent.js'
import { trustInThisProcess } from '../../packages/runner/dist/agent/trust.js'
import {
  ambientPlan,
  findAmbientInputs,
  type FoundAmbient,
} from '../../packages/lab/dist/blame/ambient.js'
import {
  processOf,
  type SearchedProcess,
  searchedSteps,
} from '../../packages/lab/dist/blame/process-tree.js'
import { folderWith, tapesOf } from '../cli/workspace.js'

const library = new URL('../../packages/cli/dist/index.js', import.meta.url).href

/** Reads everything that a fork can have from the tape or live, in every way there is. */
const AGENT = `
import { tool } from '${library}'
import { appendFileSync, closeSync, existsSync, openSync, readFileSync, readSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'

const say = tool('say', async (word) => word)
console.log('input', (await text(process.stdin)).trim())
console.log('early', Date.now())
await say('one')
console.log('late', Date.now())
console.log('random', Math.random())
console.log('later', existsSync('later.txt'))
console.log('notes', await readFile(new URL('notes.txt', import.meta.url), 'utf8'))
const fd = openSync('data.txt', 'r')
const bytes = Buffer.alloc(20)
console.log('gone', readFileSync('gone.txt', 'utf8'))
console.log('data', bytes.toString('utf8', 0, readSync(fd, bytes)))
closeSync(fd)
console.log('mood', process.env.MOOD)
console.log('before', existsSync('log.txt'))
appendFileSync('log.txt', 'line;')
console.log('log', readFileSync('log.txt', 'utf8'))
await say('two')
`

type Lines = Readonly<Record<string, string>>

async function recordedRun() {
  const workspace = await folderWith({
    'agent.mjs': AGENT,
    'notes.txt': 'old notes',
    'data.txt': 'old data',
    'gone.txt': 'was there',
  })
  const recorded = await workspace.retake(['record', 'agent.mjs'], {
    env: { MOOD: 'good' },
    input: 'hello\n',
  })
  expect(recorded.code, recorded.stderr).toBe(0)
  const [file = ''] = await tapesOf(workspace)
  const tape = openTape(file)
  trustInThisProcess(tape)
  for (const name of ['notes', 'data', 'later'])
    await writeFile(path.join(workspace.folder, `${name}.txt`), `new ${name}`)
  await rm(path.join(workspace.folder, 'gone.txt'))
  vi.stubEnv('MOOD', 'bad')
  onTestFinished(() => void vi.unstubAllEnvs())
  return { tape, recorded: linesOf(recorded.stdout) }
}

const linesOf = (stdout: string): Lines =>
  Object.fromEntries(
    stdout
      .trim()
      .split('\n')
      .map((line) => {
        const [name = '', ...rest] = line.split(' ')
        return [name, rest.join(' ')]
      }),
  )

/** Runs a fork with every step and some ambient inputs pinned. */
async function forked(process: SearchedProcess, found: FoundAmbient, pinned: readonly number[]) {
  const { tape } = process
  const folder = mkdtempSync(path.join(tmpdir(), 'retake-ambient-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const plan = planPinned(tape, {
    pinned: searchableSteps(tape).map(({ label }) => label),
    mode: 'free',
    seed: 1,
    folder,
    ambient: ambientPlan(found, pinned, process),
  })
  let stdout = ''
  const end = await continueAgent(tape, plan, {
    stdio: ['ignore', 'pipe', 'inherit'],
    onOutput: (chunk) => (stdout += String(chunk)),
  })
  expect(end).toMatchObject({ code: 0, pinned: { live: 0, unmatched: 0, forced: [] } })
  return linesOf(stdout)
}

test('a fork gets each ambient input from the tape or live, as its plan says', async () => {
  const { tape, recorded } = await recordedRun()
  const process = processOf(tape)
  const { drawSites = {}, divergences } = await replayAgent(tape, {
    stdio: 'ignore',
    reportsDrawSites: true,
  })
  expect(divergences).toEqual([])
  const found = findAmbientInputs(process, searchedSteps(process), { drawSites, env: {} })
  const { inputs } = found
  const site = (text: string): string =>
    `agent.mjs:${AGENT.split('\n').findIndex((line) => line.includes(text)) + 1}`
  expect(inputs.map(({ input }) => input)).toEqual([
    { kind: 'clock', name: 'Date.now', site: site("'early'"), value: expect.any(String) },
    { kind: 'clock', name: 'Date.now', site: site("'late'"), step: '1', value: expect.any(String) },
    {
      kind: 'random',
      name: 'Math.random',
      site: site("'random'"),
      step: '1',
      value: expect.any(String),
    },
    { kind: 'file', name: 'later.txt', site: site("'later'"), step: '1', value: 'missing' },
    { kind: 'file', name: 'notes.txt', site: site("'notes'"), step: '1', value: 'changed since' },
    {
      kind: 'file',
      name: 'data.txt',
      site: site('fd = openSync'),
      step: '1',
      value: 'changed since',
    },
    { kind: 'environment', name: 'MOOD', step: '1', value: 'good', now: 'bad' },
  ])
  expect(inputs[0]?.input.value).toMatch(/^[A-Z][a-z]+day, \d+ [A-Z][a-z]+ 20\d\d \d\d:\d\d$/)
  expect(inputs[2]?.input.value).toMatch(/^0(\.\d+)?$/)

  expect(await forked(process, found, [...inputs.keys()])).toEqual(recorded)

  const live = await forked(process, found, [])
  expect(live).toMatchObject({
    input: 'hello',
    gone: 'was there',
    later: 'true',
    notes: 'new notes',
    data: 'new data',
    mood: 'bad',
    // The run made this file itself: nobody else has changed it since.
    before: 'false',
    log: 'line;',
  })
  for (const name of ['early', 'late', 'random']) expect(live[name]).not.toBe(recorded[name])

  const some = await forked(process, found, [1, 5])
  expect(some).toMatchObject({ late: recorded['late'], data: 'old data', notes: 'new notes' })
  expect(some['early']).not.toBe(recorded['early'])
})

test('a pinned clock continues from its last recorded value', async () => {
  const workspace = await folderWith({
    'agent.mjs': `
import { tool } from '${library}'
const say = tool('say', async (word) => word)
const read = () => Date.now()
for (let times = 0; times < (process.env.TIMES ?? 2); times += 1) console.log(times, read())
await say('one')
`,
  })
  await workspace.retake(['record', 'agent.mjs'])
  const [file = ''] = await tapesOf(workspace)
  const tape = openTape(file)
  const process = processOf(tape)
  trustInThisProcess(tape)
  vi.stubEnv('TIMES', '4')
  onTestFinished(() => void vi.unstubAllEnvs())
  const { drawSites = {} } = await replayAgent(tape, { stdio: 'ignore', reportsDrawSites: true })
  const found = findAmbientInputs(process, searchedSteps(process), { drawSites, env: {} })
  const { inputs } = found
  const clock = inputs.findIndex(({ input }) => input.kind === 'clock')
  const lines = await forked(process, found, [clock])
  const recorded = [...tape.events()].flatMap((event) =>
    event.type === 'draw' && event.kind === 'Date.now' ? [event.value] : [],
  )
  const values = Object.values(lines).map(Number)
  expect(values.slice(0, 2)).toEqual(recorded)
  for (const value of values.slice(2)) {
    expect(value).toBeGreaterThanOrEqual(values[1] ?? 0)
    expect(value).toBeLessThan((values[1] ?? 0) + 20_000)
  }
})
