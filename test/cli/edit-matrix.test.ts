import { appendFileSync } from 'node:fs' // TEMPORARY
import { join } from 'node:path'
import type { OpenedSession, SessionPosition } from '@retake/web'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { findNode } from '../../scripts/find-node.mjs'
import { startEffectProvider } from '../support/effect-provider.mjs'
import { blocksOf } from '../support/report-blocks.js'
import { makeWorkspace, run, type RunOptions } from '../support/run-retake.mjs'
import { sampled } from '../support/soak.js'
import { tapesOldestFirst } from '../support/tapes-oldest-first.js'
import { AskApi } from '../web/support/ask-api.js'
import { launchUi, type Ui } from '../web/support/start-ui.js'
import { type Edit, EditedProject, EDITS, type Program, PROGRAMS } from './edited-project.js'
import { cli } from './workspace.js'

/** One recorded run per program and version of Node, whose project is edited in all ways. */
interface EditedRun {
  readonly project: EditedProject
  readonly id: string
  readonly retake: (args: readonly string[], options?: RunOptions) => ReturnType<typeof run>
  readonly ui: Ui
  /** Requests that the provider got. */
  readonly requests: () => number
  /** A line of a file that edits change, move or delete. */
  readonly line: string
  /** What is shown of the run before the first edit. */
  readonly shown: Shown
  readonly remove: () => Promise<void>
}

async function recorded(program: Program, node: string): Promise<EditedRun> {
  const provider = await startEffectProvider()
  const workspace = await makeWorkspace()
  const { folder } = workspace
  const env = { AGENT_BASE_URL: provider.url }
  const retake: EditedRun['retake'] = (args, options) => run(node, [cli, ...args], folder, options)
  const project = new EditedProject(folder, program)
  project.restore()
  await run('tar', ['-czf', 'tone-1.0.0.tgz', 'package'], folder)
  const made =
    program === 'function'
      ? await run(node, ['server.mjs'], folder, { env })
      : await retake(
          ['record', ...(program === 'tsx' ? ['--node-arg=--import=tsx'] : []), project.entry],
          { env },
        )
  expect(made.code, made.stderr).toBe(0)
  const [tape = ''] = tapesOldestFirst(join(folder, '.retake/runs'))
  const id = /([^/\\]+)\.tape$/.exec(tape)?.[1] ?? ''
  const snapshot = await retake(['debug', 'snapshot', id])
  expect(snapshot.code, snapshot.stderr).toBe(0)
  const ui = await launchUi(folder, { node })
  const remove = async (): Promise<void> => {
    await ui.stop()
    await provider.close()
    await workspace.remove()
  }
  const requests = (): number => [...provider.counts.values()].reduce((sum, each) => sum + each, 0)
  const lines = project.read('lib/letters.mjs').split('\n')
  const line = `${project.nameOf('lib/letters.mjs')}:${lines.indexOf("  const text = words.join(' ')") + 1}`
  const bare = { project, id, retake, ui, requests, line, remove }
  return { ...bare, shown: await shownOf(bare) }
}

/** Everything that shows lines and values of the run, without notes about changed files. */
type Shown = Awaited<ReturnType<typeof shownOf>>

async function shownOf({ project, id, retake, ui, line }: Omit<EditedRun, 'shown'>) {
  const stepped = await retake(['debug', 'step', id, '--at', '1', '--json'], {
    input: 'print content\nnext\nstack\n',
  })
  const evaluated = await retake(['eval', id, '--at', line, 'words', '--json'])
  const state = await retake(['show', id, '--step', '1', '--state'])
  const api = new AskApi(ui)
  const { session } = await api.post<OpenedSession>(`/runs/${id}/sessions`)
  const position = await api.post<SessionPosition>(`/sessions/${session}/move`, {
    to: 'step',
    step: '1',
  })
  await api.send('DELETE', `/sessions/${session}`)
  const reported = await retake(['report', id, '-o', 'report.html', '--force'])
  expect(reported.code, reported.stderr).toBe(0)
  const parts = JSON.parse(
    String(blocksOf(join(project.folder, 'report.html')).get('retake-parts')),
  ) as { sources: Record<string, { file: string; line: number; lines: string[] }> }
  const sources = Object.entries(parts.sources).map(([site, { file, line: number, lines }]) => ({
    site,
    file,
    line: number,
    lines,
  }))
  return {
    stepped: stepped.stdout,
    evaluated: evaluated.stdout,
    state: state.stdout.replace(
      'the file has changed since; showing the recorded code\n',
      '',
    ),
    viewer: position,
    sources,
  }
}

/** Replays with today's code, which is identical or says what has changed, and how to go on. */
async function checkToday({ project, id, retake }: EditedRun, edit: Edit): Promise<string> {
  const { code, stderr } = await retake(['replay', id])
  if (edit.behaves === 'the same') expect(stderr).toMatch(/^identical/m)
  if (edit.behaves === 'differently') expect(code, stderr).not.toBe(0)
  if (code === 0) return 'identical'
  const names = (edit.names ?? []).map((name) => project.nameOf(name))
  expect(stderr).not.toContain('The code is unchanged')
  expect(names.some((name) => stderr.includes(name)), stderr).toBe(true)
  expect(stderr).toContain(`retake replay ${id} --code recorded`)
  return 'named'
}

/** Before a merge, one edit per way in which the recorded code is found again. */
const SAMPLE: Readonly<Record<Program, readonly string[]>> = {
  plain: ['a link to another source', 'another package type'],
  TypeScript: ['a TypeScript file where JavaScript was'],
  tsx: [],
  function: ['another prompt file'],
}

const columns = PROGRAMS.flatMap((program) =>
  ['20', '22', '24'].map((major) => [program, major] as const),
)
const isToday = (major: string): boolean => process.versions.node.startsWith(`${major}.`)

describe.each(
  sampled(columns, ([program, major]) => isToday(major) && SAMPLE[program].length > 0),
)('a past run of the %s program on Node %s', (program, major) => {
  let past: EditedRun
  beforeAll(async () => {
    past = await recorded(program, await findNode(major))
  })
  afterEach(() => past.project.restore())
  afterAll(() => past.remove())

  test('is shown with its lines and values', () => {
    const { shown, line } = past
    expect(shown.evaluated).toContain('["Dear","Ann","Regards"]')
    expect(shown.evaluated).toContain(`"line":${line.split(':')[1]}`)
    expect(shown.stepped).toContain('Be brief')
    expect(shown.state).toContain('Be brief')
    expect(shown.viewer).toMatchObject({ kind: 'stop', step: '1' })
    expect(shown.sources.length).toBeGreaterThan(0)
  })

  const edits = sampled(
    Object.entries(EDITS).filter(([, { of = PROGRAMS }]) => of.includes(program)),
    ([name]) => SAMPLE[program].includes(name),
  )
  test.each(edits)('is shown and replayed as it was after %s', async (_, edit) => {
    const { project, id, retake, shown } = past
    edit.apply(project)
    const before = past.requests()
    const replayed = await retake(['replay', id, '--code', 'recorded'])
    expect(replayed.stderr).toMatch(/^identical/m)
    expect(replayed.code).toBe(0)
    expect(await shownOf(past)).toEqual(shown)
    const today = await checkToday(past, edit)
    if (process.env.RETAKE_TABLE) appendFileSync(process.env.RETAKE_TABLE, `${_}|${program}|${major}|${today}\n`) // TEMPORARY
    expect(past.requests()).toBe(before)
  })
})
