import { planRerun } from '@retake/engine'
import type { HomeChanges, Job } from '@retake/web'
import type { RunStore } from '../../run-store.js'
import { branchFilesOf } from '../compare/branch-files.js'
import { decideWaiting, waitingApprovals } from './approvals.js'
import { editableOf } from './editable-of.js'
import { Jobs } from './jobs.js'
import { openFinished, openStored } from '../runs/open-stored.js'
import { planOf } from './plan-of.js'
import { Sessions } from '../sessions/sessions.js'

export interface LocalChanges extends HomeChanges {
  /** Ends every process that was started. */
  close(): Promise<void>
}

/** Changes runs of a folder on this machine: starts branches, and stands in replays. */
export function localChanges(store: RunStore, tell: (job: Job) => void): LocalChanges {
  const jobs = new Jobs(tell)
  const sessions = new Sessions()
  return {
    editable: async (run, at) => editableOf(openStored(store, run), at),
    fork: async (run, request) => {
      const tape = openFinished(store, run)
      const { at, name } = request
      const planned = { kind: 'fork', at, ...(name !== undefined && { name }) } as const
      return jobs.start(tape, planOf(tape, request), planned)
    },
    rerun: async (run, options) => {
      const tape = openFinished(store, run)
      return jobs.start(tape, planRerun(tape, options), { kind: 'rerun', ...options })
    },
    stop: (job) => jobs.stop(job),
    jobs: () => jobs.list(),
    openSession: async (run) => sessions.open(openFinished(store, run)),
    move: (session, to, options) => sessions.move(session, to, options?.signal),
    evaluate: (session, expression) => sessions.evaluate(session, expression),
    closeSession: (session) => sessions.close(session),
    branchFiles: async (run) => branchFilesOf(openStored(store, run)),
    approvals: async (run) => waitingApprovals(store, run),
    decide: async (run, decision) => decideWaiting(store, run, decision),
    close: async () => {
      await Promise.all([jobs.close(), sessions.closeAll()])
    },
  }
}
