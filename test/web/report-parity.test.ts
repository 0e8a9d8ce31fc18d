import '@retake/lab/verbs'
import { loadViewerParts, writeReport } from '@retake/runner/command-line'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readRun } from '@retake/tape'
import { openTape } from '@retake/tape/node'
import type { SearchProgress } from '@retake/web'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { reportRun } from '../../packages/web/dist/report/report-run.js'

import { findingsFile } from '../support/blame-findings.js'
import { startProvider } from '../support/loopback-provider.mjs'
import type { Workspace } from '../support/run-retake.mjs'
import { copySharedDemo } from './support/demo-runs.js'
import { runsOf } from './support/desk.js'
import { writeHostileRun } from './support/hostile-run.js'
import { writeToolLoop } from './support/odd-runs.js'
import { askReport, openOfflinePage, reportUrl, type SourceCall } from './support/report-file.js'
import { startUi, type Ui } from './support/start-ui.js'
import { sampled } from '../support/soak.js'

/** Agents of many kinds: streams, sockets, processes, files, errors. */
const AGENTS = sampled(
  ['anthropic.mjs', 'got.mjs', 'http2.mjs', 'processes.mjs', 'files.mjs', 'errors.mjs'],
  (agent) => agent === 'processes.mjs',
)

let workspace: Workspace
const before = process.cwd()
beforeAll(async () => {
  workspace = await copySharedDemo()
  await workspace.retake(['debug', 'snapshot', 'last'])
  const provider = await startProvider({ maxLatencyMs: 0 })
  await Promise.all(AGENTS.map((agent) => workspace.record(agent, { provider })))
  await provider.close()
  // Source files are shown of the project that one is in.
  process.chdir(workspace.folder)
  writeHostileRun(workspace.folder, 'hostile')
  mkdirSync('.retake/blame')
  writeFileSync('.retake/blame/hostile.json', JSON.stringify(findingsFile('hostile')))
  writeToolLoop(workspace.folder, 'loop', join(workspace.folder, '.retake/demo/agent.ts:12:3'))
})
afterAll(async () => {
  process.chdir(before)
  await workspace.remove()
})

test('a report answers every call as the local viewer does, for runs of all kinds', async () => {
  const ui = await startUi(workspace.folder)
  const page = await openOfflinePage()
  const runs = runsOf(workspace)
  expect(runs.length).toBe(AGENTS.length + 4)
  const parts = await loadViewerParts()
  let compared = 0
  for (const run of runs) {
    const tape = join(workspace.folder, '.retake/runs', `${run}.tape`)
    const file = join(workspace.folder, `${run}.html`)
    const options = { withSource: true, redact: [], allowsSecrets: false, parts }
    writeReport(file, reportRun(tape, options).html)
    await page.goto('about:blank')
    await page.goto(reportUrl(file, run))
    const pairs = callsOf(tape)
    const told = await askReport(
      page,
      pairs.map(([call]) => call),
    )
    const answers = await Promise.all(pairs.map(([, path]) => askServer(ui, run, path)))
    for (const [index, [call]] of pairs.entries()) {
      const server = answers[index] ?? []
      expect({ run, call, told: shown(call, told[index] ?? []) }).toEqual({
        run,
        call,
        told: shown(call, server),
      })
      compared += 1
    }
  }
  expect(compared).toBeGreaterThan(30 * runs.length)
})

/** Every call of the interface, with the address it has at the server. */
function callsOf(file: string): (readonly [SourceCall, string])[] {
  const tape = openTape(file)
  const labels = [
    ...readRun(tape, {})
      .steps.map(({ label }) => label)
      .slice(0, 12),
    '999',
  ]
  const sites = [...tape.events()].flatMap((event) =>
    'site' in event && event.site !== undefined && !/\p{Surrogate}/u.test(event.site)
      ? [event.site]
      : [],
  )
  return [
    [{ method: 'head', args: [] }, ''],
    [{ method: 'rows', args: [{ from: 0 }] }, '/rows?from=0'],
    [{ method: 'rows', args: [{ from: 2 }] }, '/rows?from=2'],
    [{ method: 'console', args: [] }, '/console'],
    [{ method: 'files', args: [] }, '/files'],
    [{ method: 'findings', args: ['blame'] }, '/findings/blame'],
    [{ method: 'events', args: [0, 500] }, '/events?from=0&to=500'],
    ...['a', 'refund', 'script', '"'].map(
      (text) =>
        [{ method: 'search', args: [text] }, `/search?text=${encodeURIComponent(text)}`] as const,
    ),
    ...[0, 1, 5, tape.count - 1].map(
      (seq) => [{ method: 'event', args: [seq] }, `/events/${seq}`] as const,
    ),
    ...[...new Set(sites)].map(
      (site) =>
        [{ method: 'source', args: [site] }, `/source?site=${encodeURIComponent(site)}`] as const,
    ),
    ...labels.flatMap((label) => [
      [{ method: 'step', args: [label] }, `/steps/${label}`] as const,
      [
        { method: 'step', args: [label, { messagesFrom: 0 }] },
        `/steps/${label}?messagesFrom=0`,
      ] as const,
      [{ method: 'stream', args: [label] }, `/steps/${label}/stream`] as const,
      [{ method: 'state', args: [label] }, `/steps/${label}/state`] as const,
      ...['request', 'response', 'args', 'result', 'output'].map(
        (side) =>
          [{ method: 'body', args: [label, side] }, `/steps/${label}/body/${side}`] as const,
      ),
    ]),
  ]
}

/** What the server answers, as pieces. */
async function askServer(ui: Ui, run: string, path: string): Promise<unknown[]> {
  const response = await fetch(`${new URL(ui.url).origin}/api/runs/${run}${path}`, {
    headers: { authorization: `Bearer ${ui.token}`, 'x-retake': '1' },
  })
  if (path.includes('/body/')) {
    const bytes = new Uint8Array(await response.arrayBuffer())
    return response.ok ? [{ bytes: Array.from(bytes) }] : []
  }
  const text = await response.text()
  if (!response.ok) return [{ failed: JSON.parse(text) as unknown }]
  if (/^\/(?:rows|search)\?/.test(path))
    return text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as unknown)
  return [JSON.parse(text) as unknown]
}

/** The same form for both: the server puts some answers into an object, the worker sends `undefined` as nothing. */
function shown({ method }: SourceCall, pieces: unknown[]): unknown {
  const [first] = pieces as [Record<string, unknown> | null | undefined]
  const unwrap = (name: string): unknown => (first && name in first ? first[name] : first)
  switch (method) {
    case 'head':
      return unwrap('head')
    case 'step':
    case 'stream':
    case 'state':
    case 'findings':
      return orNothing(isWrapped(first, method) ? unwrap(method) : first)
    case 'event':
      return isWrapped(first, 'event') ? unwrap('event') : first
    case 'source':
      return sourceLine(isWrapped(first, 'excerpt') ? unwrap('excerpt') : first)
    case 'body':
      return first ?? null
    case 'search':
      return foundBy(pieces as SearchProgress[])
    default:
      return pieces
  }
}

/** How many hits come at once depends on time. The server does not look into captured states. */
const foundBy = (pieces: readonly SearchProgress[]): unknown => ({
  hits: pieces.flatMap(({ hits }) => hits).filter(({ field }) => field !== 'state'),
  searched: pieces.at(-1)?.searched,
  done: pieces.at(-1)?.done,
})

const isWrapped = (value: unknown, name: string): boolean =>
  typeof value === 'object' && value !== null && Object.keys(value).every((key) => key === name)

const orNothing = (value: unknown): unknown =>
  value === null || (typeof value === 'object' && Object.keys(value as object).length === 0)
    ? undefined
    : value

/** A report holds fewer lines around a place. */
function sourceLine(value: unknown): unknown {
  const excerpt = orNothing(value) as
    | { file: string; line: number; firstLine: number; lines: string[] }
    | undefined
  return excerpt && [excerpt.file, excerpt.line, excerpt.lines[excerpt.line - excerpt.firstLine]]
}
