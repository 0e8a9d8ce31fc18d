import { useQueryClient } from '@tanstack/react-query'
import { useCallback, useEffect, useMemo, useState, useSyncExternalStore } from 'react'
import type { Explained, RunHead, RunSource } from '../../../model/run-source.js'
import { useBackend, type ViewerBackend } from '../../sources/backend.js'
import { Store, useStore } from '../../design/store.js'
import { RowStore } from './row-store.js'
import { explainError } from '../../sources/backend-error.js'

export interface Reading {
  readonly head: RunHead | undefined
  /** True if the run was deleted while open. The part that was read is still shown. */
  readonly isGone: boolean
  readonly isLost: boolean
  readonly error: Explained | undefined
}

const RETRY_MS = 2000

/** How long an answered row is read again. The last rows always are. */
const SETTLE_MS = 5000
const SETTLE_ROWS = 20

/** Errors that may be temporary. */
const TEMPORARY_ERRORS = new Set(['UNEXPECTED', 'VIEWER_NO_ANSWER'])

/**
 * Reads a run, and continues while it is recorded. Data that was read stays: a deleted run or a lost
 * connection is reported in addition, and reading catches up later.
 */
export class RunReader extends Store<Reading> {
  readonly rows = new RowStore()
  readonly source: RunSource
  readonly #backend: ViewerBackend
  readonly #id: string
  readonly #notify: () => void
  #isRunning = false
  #isStale = false
  #settling: readonly { readonly from: number; readonly at: number }[] = []

  /** Calls `grew` when cached data about the run may be outdated. */
  constructor(backend: ViewerBackend, id: string, grew: () => void) {
    super({ head: undefined, isGone: false, isLost: false, error: undefined })
    this.#backend = backend
    this.#id = id
    this.#notify = grew
    this.source = backend.run(id)
  }

  /** Reads until the returned function is called. May be called again. */
  start(): () => void {
    const giveUp = new AbortController()
    const { signal } = giveUp
    const unwatch = this.#backend.watch((change) => {
      if (change.type === 'connection') {
        if (change.state === 'open' && this.get().isLost) void this.#readOn(signal)
        this.#change({ isLost: change.state === 'lost' })
      } else if (change.type === 'gone' && change.run === this.#id) this.#change({ isGone: true })
      else if (change.type === 'grew' && change.run === this.#id) {
        this.#change({ isGone: false })
        void this.#readOn(signal)
      }
    })
    this.#isRunning = false
    void this.#readOn(signal)
    return () => {
      giveUp.abort()
      unwatch()
    }
  }

  /** One read at a time. If the run grows during a read, reads again afterwards. */
  async #readOn(signal: AbortSignal): Promise<void> {
    this.#isStale = true
    if (this.#isRunning) return
    this.#isRunning = true
    while (this.#isStale && !signal.aborted) {
      this.#isStale = false
      const isFirst = this.get().head === undefined
      try {
        await this.#readOnce(signal)
        if (!isFirst && !signal.aborted) this.#notify()
      } catch (error) {
        if (!signal.aborted) this.#failed(error, signal)
      }
    }
    if (!signal.aborted) this.#isRunning = false
  }

  async #readOnce(signal: AbortSignal): Promise<void> {
    const before = this.get().head
    const head = this.source.head().then((read) => {
      this.#change({ head: read })
      return read
    })
    head.catch(() => {})
    if (before !== undefined && isAnother(before, await head)) {
      this.rows.clear()
      this.#settling = []
    }
    let events = 0
    for await (const message of this.source.rows({ from: this.#firstUnsure(), signal })) {
      if (signal.aborted) return
      this.rows.add(message)
      if (message.type === 'rest') events = message.events
    }
    const { events: headEvents } = await head
    // The rows are older than the head. The page may not be connected yet, so nothing reports that.
    if (before === undefined && headEvents > events) this.#isStale = true
    if (!signal.aborted) this.#change({ error: undefined })
  }

  /**
   * The first row to read again. An answered row may still change, because token counts arrive after
   * the finish reason, and error texts after the status.
   */
  #firstUnsure(): number {
    const { recorded } = this.rows
    if (recorded === 0) return 0
    const now = performance.now()
    const from = Math.max(0, Math.min(this.rows.firstOpen(), recorded - SETTLE_ROWS))
    this.#settling = [...this.#settling.filter(({ at }) => now - at < SETTLE_MS), { from, at: now }]
    return Math.min(...this.#settling.map((read) => read.from))
  }

  /** Treats an explained error as final. Others may be temporary. */
  #failed(error: unknown, signal: AbortSignal): void {
    const explained = explainError(error)
    const isAnswer = !TEMPORARY_ERRORS.has(explained.code)
    this.#change({ error: explained, ...(!isAnswer && { isLost: true }) })
    if (isAnswer) return
    const retry = async (): Promise<void> => {
      if (signal.aborted || !this.get().isLost) return
      await this.#readOn(signal)
      if (this.get().error === undefined) this.#change({ isLost: false })
    }
    const again = setTimeout(() => void retry(), RETRY_MS)
    signal.addEventListener('abort', () => clearTimeout(again), { once: true })
  }

  #change(part: Partial<Reading>): void {
    const entries = Object.entries(part) as [keyof Reading, unknown][]
    if (entries.some(([name, value]) => this.get()[name] !== value))
      this.set({ ...this.get(), ...part })
  }
}

/** True if another run has replaced this one, or events were lost. */
const isAnother = (before: RunHead, now: RunHead): boolean =>
  before.startedAt !== now.startedAt ||
  now.events < before.events ||
  now.recordedSteps < before.recordedSteps

export interface Run {
  readonly id: string
  readonly source: RunSource
  readonly head: RunHead
  readonly rows: RowStore
}

/**
 * The head and rows of a run, updated while it is recorded. The component must use the id as its React
 * key. Queries whose key contains the id are refetched when the run grows.
 */
export function useRun(id: string): { run: Run | undefined; reading: Reading } {
  const backend = useBackend()
  const client = useQueryClient()
  const [reader] = useState(
    () =>
      new RunReader(
        backend,
        id,
        () => void client.invalidateQueries({ predicate: ({ queryKey }) => queryKey.includes(id) }),
      ),
  )
  useEffect(() => reader.start(), [reader])
  const reading = useStore(reader)
  const { head } = reading
  const { source, rows } = reader
  const run = useMemo(() => head && { id, source, head, rows }, [id, source, head, rows])
  return { run, reading }
}

/** Renders at most once per frame when rows arrive. */
export function useRows(rows: RowStore): number {
  const subscribe = useCallback(
    (listener: () => void) => {
      let frame = 0
      const unsubscribe = rows.subscribe(() => {
        if (frame !== 0) return
        frame = requestAnimationFrame(() => {
          frame = 0
          listener()
        })
      })
      return () => {
        unsubscribe()
        cancelAnimationFrame(frame)
      }
    },
    [rows],
  )
  return useSyncExternalStore(subscribe, rows.getVersion)
}
