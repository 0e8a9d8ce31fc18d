import { createContext, use } from 'react'
import type { Abilities, RepositoryChange } from '../../api/home.js'
import type { Explained, RunCard, UnreadableRun } from '../../model/run-head.js'
import type { RunSource } from '../../model/run-source.js'
import type { ReportAbout } from '../../report/report-parts.js'
import type { LiveActions } from './live-actions.js'

/**
 * Where the viewer gets everything from. There is one for the server and one for
 * the report file; no component knows more about its home than this.
 */
export interface ViewerBackend {
  readonly name: string
  /** The run that a report is about; undefined where there are many. */
  readonly onlyRun: string | undefined
  runs(): Promise<readonly (RunCard | UnreadableRun)[]>
  run(id: string): RunSource
  abilities(id: string): Promise<Abilities>
  /** Tells of changes, and of the connection itself, until the answer is called. */
  watch(notify: (change: RepositoryChange | ConnectionChange) => void): () => void
  /** Branches, comparison, forks, stepping: only where there is a program to run. */
  readonly live: LiveActions | undefined
  /** Set in a report file: how it was made. */
  readonly report?: ReportAbout
}

/** `error`: why it will not come back by itself, and what to do. */
export interface ConnectionChange {
  readonly type: 'connection'
  readonly state: 'open' | 'lost'
  readonly error?: Explained
}

const BackendContext = createContext<ViewerBackend | undefined>(undefined)
export const BackendProvider = BackendContext.Provider

export function useBackend(): ViewerBackend {
  const backend = use(BackendContext)
  if (backend === undefined) throw new Error('no home was provided')
  return backend
}
