import type {
  BranchFile,
  BranchNodeView,
  Editable,
  Job,
  OpenedSession,
  RunActions,
  RunComparison,
  SessionPosition,
  SessionValue,
  WaitingApproval,
} from '../../api/run-repository.js'
import { type client as serverClient, readAnswer } from './client.js'

export interface LiveActions extends Omit<RunActions, 'jobs'> {
  /** Newest first; later states are reported as changes. */
  jobs(): Promise<readonly Job[]>
  branches(run: string): Promise<BranchNodeView>
  compare(a: string, b: string): Promise<RunComparison>
}

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
    // `keepalive`, so that a closing page can still send it.
    closeSession: async (session) => {
      await sessions.$delete({ param: { session } }, { init: { keepalive: true } })
    },
  }
}
