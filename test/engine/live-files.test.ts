import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { runLibrary } from '../support/run-library.mjs'
import { agentPath, makeWorkspace, type Workspace } from '../support/run-retake.mjs'

let workspace: Workspace
beforeEach(async () => {
  workspace = await makeWorkspace()
})
afterEach(() => workspace.remove())

interface Written {
  readonly path: string
  readonly text?: string
}

interface Seen extends Readonly<Record<string, unknown>> {
  readonly recorded: object
  readonly changes: readonly Written[]
  readonly notes: readonly string[]
}

/** Runs one story of `live-files.mjs` in a folder of its own and gives what it saw. */
async function tell(story: string, task: object = {}): Promise<Seen> {
  const program = agentPath('library/live-files.mjs')
  const { result } = await runLibrary(program, { story, ...task }, { cwd: workspace.folder })
  return result as Seen
}

const every = (text: string): Record<string, string> =>
  Object.fromEntries(
    ['w', 'wx', 'a', 'h', 'ws', 'as', 'hs'].map((name) => [`${name}.txt`, text] as const),
  )

describe('handles that were opened while served', () => {
  test('work on at their places when a killed run goes on', async () => {
    const seen = await tell('resumeHandles')
    expect(seen['resumed']).toEqual(seen.recorded)
    expect(seen['replayed']).toEqual(seen.recorded)
    expect(seen.recorded).toMatchObject({ r: '3345', hr: '56789', late: ['EBADF', 'write'] })
    expect(seen.recorded).toMatchObject({ rs: '0123456789', dirs: ['a,b,c,d', 'a,b,c,d'] })
    expect(seen['files']).toEqual({ ...every('one two'), 'cb.txt': 'One two' })
    expect(seen['files']).toEqual(seen['complete'])
    expect(seen['status']).toBe('sealed')
  })

  test('write to the files of the branch, not to the disk, after a fork', async () => {
    const seen = await tell('forkHandles')
    const longer = { stat: 9, cb: 'One three', h: 'one three' }
    expect(seen['forked']).toEqual({ ...seen.recorded, ...longer })
    expect(seen['replayed']).toEqual(seen['forked'])
    expect(seen['untouched']).toBe(true)
    const written = seen.changes.map(({ path, text }) => [path, text])
    expect(Object.fromEntries(written)).toEqual({ ...every('one three'), 'cb.txt': 'One three' })
  })

  test.each([
    ['resumed', true],
    ['forked', false],
  ])('never reach the tape of a %s run, though it has one of their numbers', async (_, resume) => {
    const seen = await tell('collision', { resume })
    expect(seen).toMatchObject({ collides: true, verified: 'sealed', refused: 40, read: 30 })
    expect(seen['files']).toEqual({
      '0.txt': 'ser',
      '1.txt': 'served live',
      '20.txt': 'served live, late',
      '29.txt': 'served live',
      ...(resume && { 'handle.txt': 'by handle' }),
    })
  })

  test('give a normal error and a note when their file is gone, and can be closed', async () => {
    const seen = await tell('missing')
    expect(seen.recorded).toEqual(['gone', 'EBADF', 'Kept'])
    expect(seen['resumed']).toEqual([
      'EBADF',
      'read',
      'EBADF: bad file descriptor, read',
      'EBADF',
      'Kept',
    ])
    expect(seen.notes).toEqual([
      expect.stringMatching(/^descriptor \d+, .*gone\.txt: .*could not be opened again: ENOENT/),
    ])
    expect(seen['left']).toEqual(['runs'])
  })

  test('watch on', async () => {
    const seen = await tell('watchers')
    expect(seen.recorded).toEqual({ first: 'one.txt', seen: true, polled: 7 })
    expect(seen['resumed']).toEqual({ first: 'two.txt', seen: true, polled: 7 })
    expect(seen['forked']).toEqual({ first: 'three.txt', seen: true, polled: 7 })
    expect(seen['replayed']).toEqual(seen['forked'])
    expect(seen['untouched']).toBe(true)
  })

  test('are handed to children as the files behind them', async () => {
    const seen = await tell('children')
    expect(seen.recorded).toBe('served child\nsecond\n')
    expect(seen['forked']).toBe(seen.recorded)
    expect(seen['untouched']).toBe(true)
    expect(seen.notes[0]).toMatch('works on the disk, not on the files of the branch')
  })
})

describe('the files of a branch', () => {
  test('look to every function of fs as if they were on disk', async () => {
    const seen = await tell('battery')
    expect(seen.recorded).toHaveProperty('length', 94)
    for (const state of ['atStart', 'atStep']) {
      expect(seen[state], state).toEqual({ output: seen.recorded, untouched: true, replayed: true })
    }
  })

  test('are separate for each branch, and hold what was written before the fork', async () => {
    const seen = await tell('twoForks')
    expect(seen.recorded).toMatchObject({ log: 'before\none\ntwo\n', before: '1', peek: false })
    const branch = (word: string): object => ({
      log: `before\none\n${word}\n`,
      before: '1',
      made: [word, 'two'],
      peek: 'two',
    })
    expect(seen['outputs']).toEqual(['A', 'B', 'A', 'A'].map(branch))
    expect(seen['replays']).toEqual(['A', 'B', 'A'].map(branch))
    expect(seen['untouched']).toBe(true)
    const written = (word: string): object[] => [
      { path: 'log.txt', kind: 'changed', text: `before\none\n${word}\n` },
      { path: `made/${word}`, kind: 'added', text: '' },
      { path: 'other.txt', kind: 'changed', text: word },
      { path: 'state.json', kind: 'changed', text: word },
    ]
    expect(seen.changes).toMatchObject(['A', 'B', 'A'].map(written))
    expect(seen['resumed']).toMatchObject(written('A'))
    expect(seen.notes).toContainEqual(expect.stringMatching(/^fs.readFile \.\/other\.txt: /))
  })

  test('hold what tools write, and what is written after the end', async () => {
    const seen = await tell('tools')
    expect(seen.recorded).toEqual(['zero one', 'zero one two', 'zero one two'])
    expect(seen['forked']).toEqual(['zero one', 'zero one two two', 'zero one two two'])
    expect(seen['untouched']).toBe(true)
    const written = seen.changes.map(({ path, text }) => [path, text])
    expect(Object.fromEntries(written)).toEqual({
      'handle.txt': 'onetwotwo',
      'left-behind.txt': 'late',
      'notes.txt': 'zero one two two',
      'stream.txt': 'onetwotwo',
    })
  })

  test('hold what a rerun writes from its first difference on; without one there are none', async () => {
    expect(await tell('rerunChanged')).toEqual({
      left: [],
      output: ['same', 'two'],
      untouched: true,
      changes: [
        { path: 'a.txt', kind: 'added', sizeAfter: 4, text: 'same' },
        { path: 'b.txt', kind: 'changed', sizeBefore: 3, sizeAfter: 3, text: 'two' },
      ],
    })
  })

  test('can be listed, kept elsewhere, kept on disk and discarded', async () => {
    const seen = await tell('outcome')
    expect(seen['list']).toEqual([
      { path: 'added', kind: 'added' },
      { path: 'added/deep', kind: 'added' },
      { path: 'added/deep/new.txt', kind: 'added', sizeAfter: 3, text: 'new' },
      { path: 'added/link', kind: 'added' },
      { path: 'changed.txt', kind: 'changed', sizeBefore: 7, sizeAfter: 5, text: 'other' },
      { path: 'deleted.txt', kind: 'deleted', sizeBefore: 7 },
      { path: 'folder', kind: 'deleted' },
    ])
    const added = ['added', 'added/deep', 'added/deep/new.txt', 'added/link', 'changed.txt']
    expect(seen).toMatchObject({ aside: added, untouched: true, now: [...added, 'same.txt'] })
    expect(seen).toMatchObject({ link: 'new', mode: 0o600, differences: 0, isGone: true })
    expect(seen['code']).toBe('NO_OVERLAY')
  })
})
