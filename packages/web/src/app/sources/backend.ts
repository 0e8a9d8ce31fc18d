import { useQueryClient } from '@tanstack/react-query'
import { createContext, use, useEffect } from 'react'
import type {
  AppliedFixView,
  RunComparison,
  ShownDecision,
  TrialTable,
  WaitingApproval,
  RunCard,
} from '@retake/tape'
import type {
  Abilities,
  BranchNodeView,
  Job,
  ParentPage,
  RepositoryChange,
  RunActions,
} from '../../api/run-repository.js'
import type { Explained, UnreadableRun, RunSource } from '../../model/run-source.js'
import type { ReportAbout } from '../../report/report-parts.js'

/** The source of all data in the viewer: a server or a report file. */
export interface ViewerBackend {
  readonly name: string
  /** The run of a report; undefined for a server. */
  readonly onlyRun: string | undefined
  runs(): Promise<readonly (RunCard | UnreadableRun)[]>
  run(id: string): RunSource
  abilities(id: string): Promise<Abilities>
  /** Reports changes of runs and of the connection, until the returned function is called. */
  watch(notify: (change: RepositoryChange | ConnectionChange) => void): () => void
  readonly related: RelatedRuns | undefined
  readonly live: LiveActions | undefined
  /** Tabs and panels of installed capabilities: blame, fix, trials, approvals. */
  readonly tabs: readonly string[]
  readonly report?: ReportAbout
  /** URL template that opens a file in an editor: `{file}`, `{line}` and `{column}`. */
  readonly editor?: string
  readonly parent?: ParentPage
}

export interface RelatedRuns {
  branches(run: string): Promise<BranchNodeView>
  compare(a: string, b: string): Promise<RunComparison>
}

export interface LiveActions extends Omit<RunActions, 'jobs'> {
  /** Newest first. Later states are reported as changes. */
  jobs(): Promise<readonly Job[]>
  /** Applies a fix to the project and writes a regression test. */
  applyFix(run: string, fix: string): Promise<AppliedFixView>
  undoFix(run: string, fix: string): Promise<void>
  trialTable(run: string): Promise<TrialTable | undefined>
  /** Guarded calls of all runs that wait for a decision. The next to expire comes first. */
  approvals(): Promise<readonly WaitingApproval[]>
  /** Throws if the call no longer waits, or differs from the one that was shown. */
  decide(run: string, decision: ShownDecision): Promise<void>
}

/** `error` says why the connection will not recover by itself, and what to do. */
export interface ConnectionChange {
  readonly type: 'connection'
  readonly state: 'open' | 'lost'
  readonly error?: Explained
}

const BackendContext = createContext<ViewerBackend | undefined>(undefined)
export const BackendProvider = BackendContext.Provider

export function useBackend(): ViewerBackend {
  const backend = use(BackendContext)
  if (backend === undefined) throw new Error('no backend was provided')
  return backend
}

type AnyChange = RepositoryChange | ConnectionChange

/** True if changes may have been missed. */
export const isReconnected = (change: AnyChange): boolean =>
  change.type === 'connection' && change.state === 'open'

/**
 * Refetches a query after changes: immediately, or after a delay if they come in bursts. By default,
 * after changes whose type is the query key. `delayOf` must be identical in every render.
 */
export function useRefresh(
  queryKey: string,
  delayOf?: (change: AnyChange) => number | undefined,
): void {
  const backend = useBackend()
  const client = useQueryClient()
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined
    const unwatch = backend.watch((change) => {
      const isOwn =
        change.type === queryKey ||
        (change.type === 'findings' && change.tab === queryKey) ||
        isReconnected(change)
      const delay = delayOf === undefined ? (isOwn ? 0 : undefined) : delayOf(change)
      if (delay === undefined || (timer !== undefined && delay > 0)) return
      clearTimeout(timer)
      timer = setTimeout(() => {
        timer = undefined
        void client.invalidateQueries({ queryKey: [queryKey] })
      }, delay)
    })
    return () => {
      clearTimeout(timer)
      unwatch()
    }
  }, [backend, client, queryKey, delayOf])
}
