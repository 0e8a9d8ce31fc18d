import {
  appendFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { TapeWriter } from '@retake/tape/node'
import type { ParentLink } from '@retake/tape'
import { createApi } from '../api/api.js'
import type { RunRepository, RepositoryChange } from '../api/run-repository.js'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { findingsFile } from '../../../../test/support/blame-findings.js'
import type { ViewerPart } from '@retake/runner/command-line'
import { findingsPath, RunStore, storedBlame } from '@retake/runner/runs'
import { compareRuns } from './compare/compared-rows.js'
import { localRuns } from './local-runs.js'

/** As the package that searches for causes registers it. */
const blamePart: ViewerPart = {
  tabs: ['blame'],
  findings: () => ({
    blame: { filesOf: ({ path: tape, run }) => [findingsPath(tape, run.id)], read: storedBlame },
  }),
}

let folder: string
let store: RunStore
let home: RunRepository

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'retake-home-'))
  store = new RunStore(path.join(folder, 'runs'))
  mkdirSync(store.folder)
  home = localRuns(store, { parts: [blamePart] })
})

afterEach(async () => {
  await home.close?.()
  rmSync(folder, { recursive: true })
})

/** A run that is being recorded: by this process, as its mark says. */
function begin(id: string, parent?: ParentLink): TapeWriter {
  const file = store.pathOf(id)
  writeFileSync(`${file}.pid`, String(process.pid))
  const startedAt = 1_790_000_000_000
  const run = {
    type: 'run',
    id,
    name: id,
    startedAt,
    scope: 'process',
    node: 'v20',
  } as const
  return TapeWriter.create(file, { ...run, ...(parent && { parent }) }, {})
}

const say = (tape: TapeWriter, text: string): number =>
  tape.append({ type: 'output', stream: 'stdout' }, Buffer.from(text))

function finish(tape: TapeWriter): void {
  tape.append({ type: 'end', exitCode: 0 })
  tape.seal()
}

function record(id: string): void {
  const tape = begin(id)
  say(tape, 'hello')
  finish(tape)
}

const modelOf = async (id: string) => (await home.open(id)).model
const codeOf = (question: Promise<unknown>): Promise<unknown> =>
  question.then(
    () => undefined,
    (error: unknown) => (error as { code?: string }).code,
  )

describe('a run that is requested repeatedly', () => {
  test('is read once while its file is unchanged', async () => {
    record('a')
    const first = await modelOf('a')
    expect(await modelOf('a')).toBe(first)
    rmSync(store.pathOf('a'))
    record('a')
    expect(await modelOf('a')).not.toBe(first)
  })

  test('is read again when it has grown, and when it has ended', async () => {
    const tape = begin('a')
    say(tape, 'one')
    const before = await modelOf('a')
    expect(before.status).toBe('recording')
    say(tape, 'two')
    await vi.waitFor(async () => expect((await modelOf('a')).tape.count).toBe(3), 20_000)
    finish(tape)
    await vi.waitFor(async () => expect((await modelOf('a')).status).toBe('done'), 20_000)
  })

  test('is not read more often than its size allows while it grows', async () => {
    const tape = begin('a')
    const start = performance.now()
    const clock = vi.spyOn(performance, 'now')
    // Reading it takes 100 ms.
    clock
      .mockReturnValueOnce(start)
      .mockReturnValueOnce(start + 100)
      .mockReturnValue(start + 100)
    const first = await modelOf('a')
    say(tape, 'more')
    clock.mockReturnValue(start + 450)
    expect(await modelOf('a')).toBe(first)
    clock.mockReturnValue(start + 550)
    expect(await modelOf('a')).not.toBe(first)
    clock.mockRestore()
  })

  test('is shown as killed when its process is gone, although its file is unchanged', async () => {
    begin('a')
    expect((await modelOf('a')).status).toBe('recording')
    // No process has this number.
    writeFileSync(`${store.pathOf('a')}.pid`, '99999999')
    await vi.waitFor(async () => expect((await modelOf('a')).status).toBe('killed'), 20_000)
  })

  test('is dropped from memory after many others were opened', async () => {
    for (const id of 'abcdefg') record(id)
    const first = await modelOf('a')
    for (const id of 'bcdef') await home.open(id)
    expect(await modelOf('a')).toBe(first)
    for (const id of 'bcdefg') await home.open(id)
    expect(await modelOf('a')).not.toBe(first)
  })

  test('shows the complete part of a tape that ends in the middle of a record', async () => {
    const tape = begin('a')
    say(tape, 'one')
    appendFileSync(store.pathOf('a'), '{"seq":2,"ty')
    const { tape: read } = await modelOf('a')
    expect(read.count).toBe(2)
    expect(read.tornBytes).toBeGreaterThan(0)
  })
})

describe('a run that cannot be read', () => {
  const ask = async (id: string): Promise<{ status: number; code: string }> => {
    const response = await createApi(home).request(`/runs/${id}`)
    const { error } = (await response.json()) as { error: { code: string } }
    return { status: response.status, code: error.code }
  }

  test('is reported as deleted, or with its problem', async () => {
    expect(await ask('none')).toEqual({ status: 404, code: 'UNKNOWN_RUN' })
    expect(await ask('..%2fnone')).toEqual({ status: 404, code: 'UNKNOWN_RUN' })
    writeFileSync(store.pathOf('empty'), '')
    expect(await ask('empty')).toEqual({ status: 422, code: 'TAPE_EMPTY' })
    writeFileSync(store.pathOf('text'), 'a letter\n')
    expect(await ask('text')).toEqual({ status: 422, code: 'TAPE_NOT_A_TAPE' })
    record('whole')
    const cut = begin('branch', { run: 'lost', seq: 1, chain: '' })
    finish(cut)
    expect(await ask('branch')).toEqual({ status: 422, code: 'BRANCH_PARENT_MISSING' })
  })

  test('is no longer served after its file breaks', async () => {
    record('a')
    await home.open('a')
    truncateSync(store.pathOf('a'), 0)
    expect(await codeOf(home.open('a'))).toBe('TAPE_EMPTY')
    rmSync(store.pathOf('a'))
    expect(await codeOf(home.open('a'))).toBe('UNKNOWN_RUN')
  })
})

describe('the list of runs', () => {
  test('is sorted newest first and names unreadable tapes', async () => {
    record('20260101-000000-aaaa')
    writeFileSync(store.pathOf('20251231-000000-bbbb'), '')
    const [first, second] = await home.runs()
    expect(first).toMatchObject({ id: '20260101-000000-aaaa', status: 'done' })
    expect(second).toMatchObject({ id: '20251231-000000-bbbb', error: { code: 'TAPE_EMPTY' } })
  })

  test('names a copy of a tape by its file, where it can be opened', async () => {
    record('a')
    cpSync(store.pathOf('a'), store.pathOf('copy-of-a'))
    const ids = (await home.runs()).map(({ id }) => id)
    expect(ids.toSorted()).toEqual(['a', 'copy-of-a'])
    const { a, b } = compareRuns(store, 'a', 'copy-of-a')
    expect([a.id, b.id]).toEqual(['a', 'copy-of-a'])
  })

  test('follows changes', async () => {
    const tape = begin('a')
    expect(await home.runs()).toMatchObject([{ status: 'recording' }])
    finish(tape)
    await vi.waitFor(
      async () => expect(await home.runs()).toMatchObject([{ status: 'done' }]),
      20_000,
    )
    rmSync(store.pathOf('a'))
    expect(await home.runs()).toEqual([])
  })
})

describe('a watcher', () => {
  const watch = (): RepositoryChange[] => {
    const reported: RepositoryChange[] = []
    const stop = home.watch((change) => reported.push(change))
    stops.push(stop)
    return reported
  }
  const stops: (() => void)[] = []
  afterEach(() => {
    for (const stop of stops.splice(0)) stop()
  })

  test('is notified of new and deleted runs, also in a folder that does not exist yet', async () => {
    rmSync(store.folder, { recursive: true })
    const reported = watch()
    mkdirSync(store.folder)
    record('a')
    await vi.waitFor(() => expect(reported).toContainEqual({ type: 'runs' }), 20_000)
    rmSync(store.pathOf('a'))
    await vi.waitFor(() => expect(reported).toContainEqual({ type: 'gone', run: 'a' }), 20_000)
  })

  test('is notified of the growth of an open run, and that it was killed', async () => {
    const tape = begin('a')
    const reported = watch()
    await home.open('a')
    say(tape, 'one')
    const grew = { type: 'grew', run: 'a', events: 2, status: 'recording' }
    await vi.waitFor(() => expect(reported).toContainEqual(grew), 20_000)
    writeFileSync(`${store.pathOf('a')}.pid`, '99999999')
    await vi.waitFor(() => expect(reported).toContainEqual({ ...grew, status: 'killed' }), 20_000)
  })

  test('is notified immediately of changes that another request found', async () => {
    const tape = begin('a')
    await home.open('a')
    const reported = watch()
    say(tape, 'one')
    await vi.waitFor(async () => expect((await modelOf('a')).tape.count).toBe(2), 20_000)
    expect(reported).toContainEqual({ type: 'grew', run: 'a', events: 2, status: 'recording' })
  })

  test('is not notified after the last listener has left', async () => {
    record('a')
    const reported: RepositoryChange[] = []
    home.watch((change) => reported.push(change))()
    const still = watch()
    record('b')
    await vi.waitFor(() => expect(still).toContainEqual({ type: 'runs' }), 20_000)
    expect(reported).toEqual([])
  })
})

describe('the findings of blame about a run', () => {
  const answerOf = async (
    run: string,
  ): Promise<{ findings?: { oracle: string }; error?: unknown }> =>
    (await createApi(home).request(`/runs/${run}/findings/blame`)).json() as Promise<object>
  const keep = (run: string, text: string): void => {
    mkdirSync(path.join(folder, 'blame'), { recursive: true })
    writeFileSync(path.join(folder, 'blame', `${run}.json`), text)
  }

  test('is read again when a search has a new result, and listeners are notified', async () => {
    record('a')
    expect(await answerOf('a')).toEqual({})
    const reported: RepositoryChange[] = []
    const unwatch = home.watch((change) => reported.push(change))
    keep('a', JSON.stringify({ ...findingsFile('a'), oracle: 'one' }))
    await vi.waitFor(
      () => expect(reported).toContainEqual({ type: 'findings', tab: 'blame', run: 'a' }),
      20_000,
    )
    unwatch()
    expect((await answerOf('a')).findings?.oracle).toBe('one')
    keep('a', JSON.stringify({ ...findingsFile('a'), oracle: 'another' }))
    expect((await answerOf('a')).findings?.oracle).toBe('another')
    rmSync(path.join(folder, 'blame'), { recursive: true })
    expect(await answerOf('a')).toEqual({})
  })

  test.each([
    ['no JSON', '{'],
    ['of another run', JSON.stringify(findingsFile('b'))],
    ['of a newer version', JSON.stringify({ ...findingsFile('a'), version: 2 })],
  ])('that is %s is an error that says so, and the run can be opened', async (_what, text) => {
    record('a')
    keep('a', text)
    expect(await answerOf('a')).toMatchObject({ error: { code: 'FINDINGS_UNREADABLE' } })
    expect((await modelOf('a')).status).toBe('done')
  })
})
