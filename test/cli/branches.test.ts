import { spawnSync } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openTape } from '@retake/tape/node'
import { cli } from './workspace.js'
import { ForkScene, removeScenes, viewOf, type Branched } from '../support/forking.js'
import { soakOnly } from '../support/soak.js'

/** A run, two forks of it, and a fork of the first fork. */
let scene: ForkScene
let root: string
let first: Branched
let second: Branched
let third: Branched

beforeAll(async () => {
  scene = await ForkScene.record('fork/conversation.mjs', { args: ['openai-chat', '3'] })
  root = openTape(scene.parent).run.id
  const fork = (from: string, ...args: string[]): Promise<Branched> =>
    scene.branch(['fork', from, ...args])
  first = await fork(scene.parent, '--at', '3', '--set', 'choices.0.message.content="No."')
  second = await fork(scene.parent, '--at', '2', '--request', 'text="Maybe."', '--name', 'second')
  third = await fork(first.path ?? '', '--at', '6', '--set', 'heard="third"', '--set', 'weight=3')
})
afterAll(removeScenes)

const id = ({ tape }: Branched): string => tape.run.id
const retake = async (...args: string[]): Promise<string> => {
  const { stdout, stderr, code } = await scene.workspace.retake(args)
  expect({ stderr, code }).toMatchObject({ code: 0 })
  return stdout
}

const hasScript = spawnSync('script', ['--version']).status === 0

test.skipIf(!hasScript)(
  'on a terminal, colours are rendered and escape codes are not printed',
  () => {
    const command = `'${process.execPath}' '${cli}' branches ${root}`
    const { NO_COLOR: _, ...env } = process.env
    const { stdout } = spawnSync('script', ['-qec', command, '/dev/null'], {
      cwd: scene.workspace.folder,
      encoding: 'utf8',
      env: { ...env, FORCE_COLOR: '1' },
    })
    expect(stdout).toContain('\u001B[32mdone\u001B[0m')
    expect(stdout).not.toContain('\\x1b')
  },
)

test('branches draws the tree of any of its runs', async () => {
  const facts = (text: string): string =>
    text.replaceAll(/\d+ tokens · \$[\d.]+ · [\d.]+ m?s/g, 'N tokens · $N · TIME')
  for (const run of [root, id(third)]) {
    expect(facts(await retake('branches', run))).toBe(`${root}  recorded · done · conversation
├ ${id(first)}  fork at step 3 · done · conversation
│ │ answer choices.0.message.content = "No."
│ │ saved 2 requests · N tokens · $N · TIME
│ └ ${id(third)}  fork at step 6 · done · conversation
│     answer heard = "third"
│     answer weight = 3
│     saved 3 requests · N tokens · $N · TIME
└ ${id(second)}  fork at step 2 · done · second
    request text = "Maybe."
    saved 1 request · N tokens · $N · TIME
`)
  }
})

test('branches --json has the same tree, with parents, edits and facts', async () => {
  const tree = JSON.parse(await retake('branches', id(second), '--json')) as object
  expect(tree).toMatchObject({
    id: root,
    status: 'done',
    branches: [
      {
        id: id(first),
        parent: { run: root, seq: first.tape.ownFrom },
        branch: { kind: 'fork', at: '3', tail: 'live' },
        facts: { served: 3, live: 3, savedRequests: 2, paidRequests: 1 },
        branches: [
          {
            id: id(third),
            branch: {
              edits: [
                { target: 'answer', path: 'heard', value: 'third' },
                { target: 'answer', path: 'weight', value: 3 },
              ],
            },
            facts: { served: 6, live: 0, savedRequests: 3, paidRequests: 0, paidUsd: 0 },
          },
        ],
      },
      { id: id(second), facts: { served: 1, live: 5, savedRequests: 1, paidRequests: 2 } },
    ],
  })
})

test('show says what a branch is a branch of, what was changed, and where each step came from', async () => {
  const [title, branch] = (await retake('show', id(first))).split('\n')
  expect(title).toBe(`${id(first)}  conversation`)
  expect(branch).toBe(`fork at step 3 of ${root} · answer choices.0.message.content = "No."`)
  const origins = (text: string): string[] =>
    [...text.matchAll(/^\d+ .* (served|edited|live|lost) +(?:model|tool) /gm)].map(
      ([, origin]) => origin ?? '',
    )
  expect(origins(await retake('show', id(first)))).toEqual([
    'served',
    'served',
    'edited',
    'live',
    'live',
    'live',
  ])
  expect(origins(await retake('show', id(second)))).toEqual(['served', ...Array(5).fill('live')])
  expect(origins(await retake('show', id(third)))).toEqual([...Array(5).fill('served'), 'edited'])
  expect(await retake('show', root)).not.toContain('origin')
  expect(await retake('show', id(third))).toContain('answer heard = "third" and 1 more')
})

test('show --step says that an answer was edited or that another request was sent', async () => {
  const edited = await retake('show', id(first), '--step', '3')
  expect(edited).toContain('edited: its answer was put in by the fork\n')
  expect(edited).toContain('changed answer choices.0.message.content = "No."\n')
  const asked = await retake('show', id(second), '--step', '2')
  expect(asked).toContain('\nlive\nchanged request text = "Maybe."\n')
  expect(await retake('show', id(first), '--step', '1')).toContain('\nserved: ')
})

test('show --json carries parent, branch, facts and the origin of each step', async () => {
  soakOnly()
  const shown = JSON.parse(await retake('show', id(first), '--json')) as { steps: object[] }
  expect(shown).toMatchObject({
    parent: { run: root },
    branch: { kind: 'fork', at: '3' },
    facts: { served: 3, live: 3 },
  })
  const origins = shown.steps.map((step) => (step as { origin: string }).origin)
  expect(origins).toEqual(['served', 'served', 'edited', 'live', 'live', 'live'])
  const plain = JSON.parse(await retake('show', root, '--json')) as object
  expect(plain).not.toHaveProperty('branch')
  expect(plain).not.toHaveProperty('steps.0.origin')
  const step = JSON.parse(await retake('show', id(first), '--step', '4', '--json')) as object
  expect(step).toMatchObject({ origin: 'live' })
})

test('list, verify, export and replay accept a branch like any run', async () => {
  soakOnly()
  expect(await retake('list')).toContain('second (fork)')
  const lines = (await retake('list', '--json')).trim().split('\n')
  const branches = lines.map((line) => (JSON.parse(line) as { branch?: object }).branch)
  expect(branches).toContainEqual({ kind: 'fork', parent: id(first) })
  expect(branches).toContain(undefined)

  for (const made of [first, second, third]) {
    const verified = await retake('verify', id(made))
    expect(verified).toContain(`${id(made)}  intact  identical`)
    const replayed = await scene.workspace.replay({ run: id(made) })
    expect(replayed).toMatchObject({ stdout: made.stdout, code: 0, waysOut: {} })
    const events = (await retake('export', id(made), '--jsonl')).trim().split('\n')
    expect(events.length).toBe(made.tape.count)
    const numbers = events.map((line) => (JSON.parse(line) as { seq: number }).seq)
    expect(numbers).toEqual(numbers.map((_, index) => index))
  }
})

test('diff finds the edit between a branch and its parent, and between two branches', async () => {
  soakOnly()
  const compare = async (a: string, b: string): Promise<string> => {
    const { stdout, code } = await scene.workspace.retake(['diff', a, b])
    expect(code).toBe(3)
    return stdout
  }
  expect(await compare(root, id(first))).toContain('No.')
  expect(await compare(root, id(first))).toContain('step 3')
  expect(await compare(id(first), id(third))).toContain('third')
  expect((await scene.workspace.retake(['diff', id(first), id(first)])).code).toBe(0)
})

test('a run without branches is shown alone, and an unreadable tape is named', async () => {
  soakOnly()
  const alone = await ForkScene.record('fork/conversation.mjs', { args: ['http', '1'] })
  const { retake: run } = alone.workspace
  const { id: only } = openTape(alone.parent).run
  expect((await run(['branches', only])).stdout).toBe(`${only}  recorded · done · conversation\n`)
  const made = await alone.branch(['fork', alone.parent, '--at', '1', '--status', '503'])
  expect(viewOf(made.tape).exit?.code).toBe(0)
  const bytes = await readFile(made.path ?? '')
  // In its first record, which says what it is a branch of.
  bytes.write('!', bytes.indexOf('"type":"run"'))
  await writeFile(made.path ?? '', bytes)
  const { stderr, code } = await run(['branches', only])
  expect(code).toBe(0)
  expect(stderr).toBe(`1 tape of this folder cannot be read and may belong here: ${id(made)}\n`)
  expect((await run(['branches', 'none-such'])).stderr).toContain('UNKNOWN_RUN')
  expect((await run(['branches'])).code).toBe(2)
})
