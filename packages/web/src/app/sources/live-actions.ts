import type { BranchFile, BranchNodeView } from '../../api/home.js'
import type { Editable, RunActions, WaitingApproval } from '../../api/home.js'
import type { Job } from '../../api/home.js'
import type { RunComparison } from '../../api/home.js'
import type { OpenedSession, SessionPosition, SessionValue } from '../../api/home.js'
import type { client as serverClient } from './client.js'
import { readAnswer } from './client.js'

/** What only a live home can do. */
export interface LiveActions extends Omit<RunActions, 'jobs'> {
  /** Newest first; what becomes of them is told by the home's changes. */
  jobs(): Promise<readonly Job[]>
  branches(run: string): Promise<BranchNodeView>
  compare(a: string, b: string): Promise<RunComparison>
}

/** The actions of the server behind a page. Its refusals are thrown by the client. */
export function makeLiveActions(client: typeof serverClient): LiveActions {
  const runs = client.runs[':run']
  const sessions = client.sessions[':session']
  return {
    branches: async (run) =>
      readAnswer<BranchNodeView>(await runs.branches.$get({ param: { run } })),
    compare: async (a, b) =>
      readAnswer<RunComparison>(await client.compare.$get({ query: { a, b } })),
    branchFiles: async (run) =>
      readAnswer<readonly BranchFile[]>(await runs['files-of-branch'].$get({ param: { run } })),
    editable: async (run, step) =>
      readAnswer<Editable>(await runs.steps[':step'].editable.$get({ param: { run, step } })),
    fork: async (run, request) =>
      readAnswer<Job>(await runs.fork.$post({ param: { run }, json: request })),
    rerun: async (run, options) =>
      readAnswer<Job>(await runs.rerun.$post({ param: { run }, json: options })),
    approvals: async (run) =>
      readAnswer<readonly WaitingApproval[]>(await runs.approvals.$get({ param: { run } })),
    decide: async (run, decision) => {
      await runs.approvals.$post({ param: { run }, json: decision })
    },
    jobs: async () => readAnswer<readonly Job[]>(await client.jobs.$get()),
    stop: async (job) => {
      await client.jobs[':job'].stop.$post({ param: { job } })
    },
    openSession: async (run) =>
      readAnswer<OpenedSession>(await runs.sessions.$post({ param: { run } })),
    move: async (session, to, { signal } = {}) => {
      const init = signal === undefined ? {} : { signal }
      const requested = { param: { session }, json: to }
      return readAnswer<SessionPosition>(await sessions.move.$post(requested, { init }))
    },
    evaluate: async (session, expression) =>
      readAnswer<SessionValue>(
        await sessions.evaluate.$post({ param: { session }, json: { expression } }),
      ),
    // Kept alive, so that a page which is being closed can still say it.
    closeSession: async (session) => {
      await sessions.$delete({ param: { session } }, { init: { keepalive: true } })
    },
  }
}
