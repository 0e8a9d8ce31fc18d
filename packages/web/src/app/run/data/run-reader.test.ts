import { type RowMessage, type RowState, type StepRow, toColumns } from '@retake/tape/present'
import { describe, expect, test, vi } from 'vitest'
import type { RunHead, RunSource } from '../../../model/run-source.js'
import type { ViewerBackend } from '../../sources/backend.js'
import { RunReader } from './use-run.js'

type Change = Parameters<Parameters<ViewerBackend['watch']>[0]>[0]

/** A home with one run whose steps are given by their states; a test changes it as it likes. */
class OneRun {
  states: RowState[] = []
  startedAt = 1
  error: Error | undefined
  /** Why what needs all answers cannot be said. */
  restError: Error | undefined
  headComes = Promise.resolve()
  readonly requested: number[] = []
  #notify: ((change: Change) => void) | undefined

  readonly backend = {
    watch: (notify: (change: Change) => void) => {
      this.#notify = notify
      return () => {}
    },
    run: () => ({ head: () => this.#head(), rows: this.#rows }) as unknown as RunSource,
  } as unknown as ViewerBackend

  notify(change: Change): void {
    this.#notify?.(change)
  }

  grow(...states: RowState[]): void {
    this.states = states
    this.notify({ type: 'grew', run: 'x', events: 0, status: 'recording' })
  }

  async #head(): Promise<RunHead> {
    if (this.error !== undefined) throw this.error
    await this.headComes
    const { startedAt } = this
    const { length } = this.states
    return { id: 'x', startedAt, recordedSteps: length, events: length } as unknown as RunHead
  }

  readonly #rows = async function* (
    this: OneRun,
    { from = 0 }: { from?: number } = {},
  ): AsyncGenerator<RowMessage> {
    this.requested.push(from)
    await Promise.resolve()
    if (this.error !== undefined) throw this.error
    const rows = this.states.map((state, index) => ({ label: `${index + 1}`, state, within: [] }))
    const columns = toColumns(rows.slice(from) as unknown as StepRow[])
    if (from < rows.length) yield { type: 'rows', from, rows: columns }
    if (this.restError !== undefined) throw this.restError
    const totals = {} as never
    yield { type: 'rest', inferred: toColumns([]), parents: [], totals, events: rows.length }
  }.bind(this)
}

const explained = (code: string): Error =>
  Object.assign(new Error('said'), { code, what: 'said', why: 'because', fix: 'do this' })

describe('reading a run', () => {
  const statesOf = ({ rows }: RunReader): RowState[] =>
    Array.from({ length: rows.length }, (_, index) => rows.at(index).state)

  test('continues where it may have changed when the run grows', async () => {
    const run = new OneRun()
    const done = Array<RowState>(50).fill('done')
    run.states = [...done, 'running']
    const grew = vi.fn<() => void>()
    const reader = new RunReader(run.backend, 'x', grew)
    reader.start()
    await vi.waitFor(() => expect(reader.rows.isComplete).toBe(true), 20_000)
    expect(grew).not.toHaveBeenCalled()
    run.grow(...done, 'done', 'running')
    await vi.waitFor(() => expect(statesOf(reader).slice(50)).toEqual(['done', 'running']), 20_000)
    // Not from the beginning, and somewhat before what was open: counts of tokens come late.
    expect(run.requested).toEqual([0, 31])
    await vi.waitFor(() => expect(grew).toHaveBeenCalledOnce(), 20_000)
  })

  test('reads a row again that learns something after it has its answer', async () => {
    const run = new OneRun()
    run.states = ['running', ...Array<RowState>(50).fill('done')]
    const reader = new RunReader(run.backend, 'x', () => {})
    reader.start()
    await vi.waitFor(() => expect(reader.rows.isComplete).toBe(true), 20_000)
    run.grow(...Array<RowState>(51).fill('done'))
    await vi.waitFor(() => expect(statesOf(reader)[0]).toBe('done'), 20_000)
    run.grow('failed', ...Array<RowState>(51).fill('done'))
    await vi.waitFor(() => expect(statesOf(reader)[0]).toBe('failed'), 20_000)
  })

  test('takes nothing over from a run that was there before under the same name', async () => {
    const run = new OneRun()
    run.states = ['done', 'failed', 'done']
    const reader = new RunReader(run.backend, 'x', () => {})
    reader.start()
    await vi.waitFor(() => expect(reader.rows.isComplete).toBe(true), 20_000)
    run.startedAt = 2
    run.grow()
    await vi.waitFor(() => expect(reader.get().head?.startedAt).toBe(2), 20_000)
    await vi.waitFor(() => expect(reader.rows.length).toBe(0), 20_000)
    run.grow('aborted', 'aborted')
    await vi.waitFor(() => expect(statesOf(reader)).toEqual(['aborted', 'aborted']), 20_000)
  })

  test('reports a damaged answer, however late the head arrives', async () => {
    const run = new OneRun()
    run.states = ['done', 'done']
    run.restError = explained('TAPE_DAMAGED')
    let comes = (): void => {}
    run.headComes = new Promise((resolve) => {
      comes = resolve
    })
    const reader = new RunReader(run.backend, 'x', () => {})
    reader.start()
    await vi.waitFor(() => expect(reader.get().error?.code).toBe('TAPE_DAMAGED'), 20_000)
    comes()
    await vi.waitFor(() => expect(reader.get().head).toBeDefined(), 20_000)
    expect(reader.get().error?.code).toBe('TAPE_DAMAGED')
    expect(statesOf(reader)).toEqual(['done', 'done'])
  })

  test('misses nothing that grows while it reads', async () => {
    const run = new OneRun()
    run.states = ['running']
    const reader = new RunReader(run.backend, 'x', () => {})
    reader.start()
    for (let steps = 2; steps < 6; steps++) run.grow(...Array<RowState>(steps).fill('done'))
    await vi.waitFor(() => expect(statesOf(reader)).toEqual(Array(5).fill('done')), 20_000)
  })

  test('reads rows again that were read before the head, when the run had fewer events', async () => {
    const run = new OneRun()
    run.states = ['running']
    let comes = (): void => {}
    run.headComes = new Promise((resolve) => {
      comes = resolve
    })
    const reader = new RunReader(run.backend, 'x', () => {})
    reader.start()
    await vi.waitFor(() => expect(reader.rows.isComplete).toBe(true), 20_000)
    // No change is reported: the page is not connected yet.
    run.states = ['done', 'done']
    comes()
    await vi.waitFor(() => expect(statesOf(reader)).toEqual(['done', 'done']), 5000)
  })

  test('keeps what it has when the run is deleted', async () => {
    const run = new OneRun()
    run.states = ['done']
    const reader = new RunReader(run.backend, 'x', () => {})
    reader.start()
    await vi.waitFor(() => expect(reader.rows.isComplete).toBe(true), 20_000)
    run.notify({ type: 'gone', run: 'another' })
    expect(reader.get().isGone).toBe(false)
    run.notify({ type: 'gone', run: 'x' })
    expect(reader.get().isGone).toBe(true)
    expect(reader.get().head).toBeDefined()
    expect(reader.rows.length).toBe(1)
  })

  test('catches up when a lost connection is back', async () => {
    const run = new OneRun()
    run.states = ['done']
    const reader = new RunReader(run.backend, 'x', () => {})
    reader.start()
    await vi.waitFor(() => expect(reader.rows.isComplete).toBe(true), 20_000)
    run.notify({ type: 'connection', state: 'lost' })
    expect(reader.get().isLost).toBe(true)
    run.states = ['done', 'done']
    run.notify({ type: 'connection', state: 'open' })
    await vi.waitFor(() => expect(reader.rows.length).toBe(2), 20_000)
    expect(reader.get().isLost).toBe(false)
  })

  test('shows an error in full, and does not repeat answered requests', async () => {
    const run = new OneRun()
    run.error = explained('TAPE_CORRUPT')
    const reader = new RunReader(run.backend, 'x', () => {})
    reader.start()
    await vi.waitFor(() => expect(reader.get().error).toBeDefined(), 20_000)
    expect(reader.get().error).toMatchObject({
      code: 'TAPE_CORRUPT',
      what: 'said',
      why: 'because',
      fix: 'do this',
    })
    expect(reader.get().isLost).toBe(false)
    expect(run.requested).toEqual([0])
  })

  test('retries on its own without an answer', async () => {
    vi.useFakeTimers()
    try {
      const run = new OneRun()
      run.error = explained('VIEWER_NO_ANSWER')
      const reader = new RunReader(run.backend, 'x', () => {})
      reader.start()
      await vi.advanceTimersByTimeAsync(100)
      expect(reader.get().isLost).toBe(true)
      run.error = undefined
      run.states = ['done']
      await vi.advanceTimersByTimeAsync(3000)
      expect(reader.rows.length).toBe(1)
      expect(reader.get()).toMatchObject({ isLost: false, error: undefined })
    } finally {
      vi.useRealTimers()
    }
  })

  test('can be stopped and restarted', async () => {
    const run = new OneRun()
    run.states = ['done', 'done']
    const reader = new RunReader(run.backend, 'x', () => {})
    reader.start()()
    reader.start()
    await vi.waitFor(() => expect(reader.rows.isComplete).toBe(true), 20_000)
    expect(reader.rows.length).toBe(2)
  })
})
