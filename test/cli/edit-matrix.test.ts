import { dirname, join } from 'node:path'
import type { OpenedSession, SessionPosition, SourceExcerpt } from '@retake/web'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { findNode } from '../../scripts/find-node.mjs'
import { startEffectProvider } from '../support/effect-provider.mjs'
import { blocksOf } from '../support/report-blocks.js'
import {
  makeWorkspace,
  run,
  runCommands,
  type RunOptions,
  type Workspace,
} from '../support/run-retake.mjs'
import { isSoak, sampled, soakOnly } from '../support/soak.js'
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
  readonly retakeEach: Workspace['retakeEach']
  readonly ui: Ui
  /** Requests that the provider got. */
  readonly requests: () => number
  /** A line of a file that edits change, move or delete. */
  readonly line: string
  /** What is shown of the run before the first edit. */
  readonly shown: Awaited<ReturnType<typeof lookInto>>['shown']
  readonly remove: () => Promise<void>
}

async function recorded(program: Program, node: string): Promise<EditedRun> {
  const provider = await startEffectProvider()
  const workspace = await makeWorkspace()
  const { folder } = workspace
  const env = { AGENT_BASE_URL: provider.url }
  const retake: EditedRun['retake'] = (args, options) => run(node, [cli, ...args], folder, options)
  const retakeEach: EditedRun['retakeEach'] = (commands) => runCommands(commands, folder, node)
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
  const bare = { project, id, retake, retakeEach, ui, requests, line, remove }
  const { shown } = await lookInto(bare)
  return { ...bare, shown }
}

/** What a replay of the recorded code and one of today's say, and everything that shows lines and values. */
async function lookInto({ project, id, retake, retakeEach, ui, line }: Omit<EditedRun, 'shown'>) {
  const [recorded, today, evaluated, state, reported] = await retakeEach([
    ['replay', id, '--code', 'recorded'],
    ['replay', id],
    ['eval', id, '--at', line, 'words', '--json'],
    ['show', id, '--step', '1', '--state'],
    ['report', id, '-o', 'report.html', '--force'],
  ])
  expect(reported?.code, reported?.stderr).toBe(0)
  const stepped = await retake(['debug', 'step', id, '--at', '1', '--json'], {
    input: 'print content\nnext\nstack\n',
  })
  const api = new AskApi(ui)
  const { session } = await api.post<OpenedSession>(`/runs/${id}/sessions`)
  const move = { to: 'step', step: '1' }
  const viewer = await api.post<SessionPosition>(`/sessions/${session}/move`, move)
  await api.send('DELETE', `/sessions/${session}`)
  const parts = blocksOf(join(project.folder, 'report.html')).get('retake-parts')
  const { sources } = JSON.parse(String(parts)) as { sources: Record<string, SourceExcerpt> }
  const shown = {
    evaluated: evaluated?.stdout,
    state: state?.stdout.replace('the file has changed since; showing the recorded code\n', ''),
    stepped: stepped.stdout,
    viewer,
    // Without what is said about today's files.
    sources: Object.entries(sources).map(([site, excerpt]) => [
      site,
      excerpt.file,
      excerpt.line,
      excerpt.lines,
    ]),
  }
  // In CommonJS, the variable `module` has the folder of the copy in which recorded code runs, and
  // the folders above it.
  const text = JSON.stringify(shown).replaceAll(
    /\/[^"'\s]*\/retake-code-\w+(?=\/)/g,
    dirname(project.folder),
  )
  return { recorded, today, shown: JSON.parse(text) as typeof shown }
}

/** What a replay of today's code may say after an edit. */
const ALLOWED = {
  'the same': ['identical'],
  differently: ['named'],
  perhaps: ['identical', 'named'],
} as const

/** `named`: it says what has changed and how to run the recorded code. Otherwise, all that it says. */
function verdictOf(stderr: string, { project, id }: EditedRun, { names = [] }: Edit): string {
  if (/^identical/m.test(stderr)) return 'identical'
  const isNamed =
    names.some((name) => stderr.includes(project.nameOf(name))) &&
    stderr.includes(`retake replay ${id} --code recorded`) &&
    !stderr.includes('The code is unchanged')
  return isNamed ? 'named' : stderr
}

/** Before a merge, one edit per way in which the recorded code is found again. */
const SAMPLE: Readonly<Record<Program, readonly string[]>> = {
  plain: ['a link to another source', 'another package type'],
  TypeScript: [],
  tsx: [],
  function: ['another prompt file'],
}

const columns = PROGRAMS.flatMap((program) =>
  ['20', '22', '24'].map((major) => [program, major] as const),
)
const isToday = (major: string): boolean => process.versions.node.startsWith(`${major}.`)

describe.each(sampled(columns, ([program, major]) => isToday(major) && SAMPLE[program].length > 0))(
  'a past run of the %s program on Node %s',
  (program, major) => {
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
      edit.apply(past.project)
      const before = past.requests()
      const { recorded: replayed, today, shown } = await lookInto(past)
      expect(replayed).toMatchObject({
        code: 0,
        stderr: expect.stringMatching(/^identical/m) as string,
      })
      expect(shown).toEqual(past.shown)
      const verdict = verdictOf(today?.stderr ?? '', past, edit)
      expect(ALLOWED[edit.behaves]).toContain(verdict)
      expect(past.requests()).toBe(before)
    })
    test('names a package that behaves differently, and how to install the recorded one', async () => {
      soakOnly()
      const { project, id, retake, line, requests } = past
      const before = requests()
      project.install('2.0.0', 'rude')
      for (const args of [
        ['replay', id],
        ['replay', id, '--code', 'recorded'],
        ['replay', id, '--step', '2'],
        ['eval', id, '--at', line, 'words'],
      ]) {
        const { stderr, code } = await retake(args)
        expect(code, args.join(' ')).toBe(3)
        expect(stderr).toContain('Changed since the recording: tone 1.0.0 → 2.0.0.')
        expect(stderr).toContain(`retake replay ${id} --code recorded --install`)
      }
      expect(requests()).toBe(before)
    })

    // The other packages of the TypeScript programs are links, which the lock file does not have.
    test.runIf(isSoak && (program === 'plain' || program === 'function'))(
      'replays with the packages of its lock file',
      async () => {
        const { project, id, retake } = past
        project.install('2.0.0', 'rude')
        const args = ['replay', id, '--code', 'recorded', '--install']
        const installed = await retake(args, { env: { npm_config_offline: 'true' } })
        expect(installed.stderr).toMatch(/^identical/m)
      },
    )
  },
)
