import { planRerun } from '@retake/engine/plans'
import type { RunStatus } from '@retake/tape/present'
import type { Abilities, BranchNodeView, RunActions, Job } from '../../api/run-repository.js'
import {
  type RunStore,
  type BranchNode,
  branchTree,
  changeText,
  howText,
  type OwnNode,
  readNode,
  readBranchRun,
} from '@retake/runner/runs'
import { editableOf, planOf } from './plan-change.js'
import { factsView, LocalJobs } from './jobs.js'
import { FileCache, openFinished, openStored, withMark } from '../runs/run-models.js'
import { Sessions } from '../sessions/sessions.js'
import type { Tape } from '@retake/tape'
import { cliErrors, RunNotTrusted } from '@retake/runner/errors'
import { explainOrThrow } from '@retake/runner/command-line'
import { replayAgent, startOf } from '@retake/runner/agent'
import { runnerOfProject, testedCall, writeTest } from '@retake/runner/tests'
import { fromHere } from '@retake/runner/terminal'
import { hasRecordedCode } from '@retake/runner/sources'

/** Maximum length of a shown edit; `branch.edits` has the whole edit. */
const EDIT_MAX = 400

/** Number of tapes whose first events are cached. A tree needs those of all runs. */
const TAPES_MAX = 100_000

/** Trees of runs for a page, which requests them after every change. */
export function branchTrees(store: RunStore): (id: string) => BranchNodeView {
  const runs = new FileCache<ReturnType<typeof readBranchRun>>(TAPES_MAX)
  const nodes = new FileCache<OwnNode>()
  return (id) => {
    if (!store.unsortedIds().includes(id)) throw cliErrors.UNKNOWN_RUN(id, store.folder)
    const { root, unreadable } = branchTree(store, id, {
      readRun: (file) => runs.get(file, withMark(file), () => readBranchRun(file)),
      readNode: (each, file, run) =>
        nodes.get(file, withMark(file), () => readNode(each, file, run)),
    })
    return { ...nodeView(root), ...(unreadable.length > 0 && { unreadable }) }
  }
}

function nodeView({ facts, branches, costUsd, parent, ...node }: BranchNode): BranchNodeView {
  const { branch, isImported } = node
  return {
    ...node,
    ...(parent && { parent }),
    how: branch === undefined ? (isImported ? 'imported' : 'recorded') : howText(branch),
    edits: branch?.edits.map((edit) => changeText(edit, EDIT_MAX)) ?? [],
    ...(costUsd !== undefined && { costUsd }),
    ...(facts && { facts: factsView(facts) }),
    branches: branches.map(nodeView),
  }
}

export interface LocalChanges extends RunActions {
  close(): Promise<void>
}

/** Changes runs of a folder on this machine: starts branches and debug sessions. */
export function localChanges(store: RunStore, notify: (job: Job) => void): LocalChanges {
  const jobs = new LocalJobs(notify)
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
    writeTest: async (run) => {
      const tape = openFinished(store, run)
      const call = testedCall(tape)
      const [divergence] = (await replayAgent(tape, { stdio: 'ignore' })).divergences
      if (divergence !== undefined)
        throw cliErrors.TEST_WOULD_FAIL(
          tape.run.id,
          `The program differs from the tape at event ${divergence.seq}: ${divergence.summary}`,
        )
      const runner = runnerOfProject(process.cwd())
      const { test, command } = writeTest(tape, { runner, ...(call && { call }) })
      return { file: fromHere(test), command }
    },
    stop: (job) => jobs.stop(job),
    jobs: () => jobs.list(),
    openSession: async (run) => sessions.open(openFinished(store, run)),
    move: (session, to, options) => sessions.move(session, to, options?.signal),
    evaluate: (session, expression) => sessions.evaluate(session, expression),
    closeSession: (session) => sessions.close(session),
    close: async () => {
      await Promise.all([jobs.close(), sessions.closeAll()])
    },
  }
}

/** Actions that a run allows here, or why not. Credentials are checked when something goes live. */
export function abilitiesOf(tape: Tape, status: RunStatus): Abilities {
  let isGone = false
  let can: true | string = status === 'recording' ? 'It is still being recorded.' : true
  try {
    if (can === true) startOf(tape)
  } catch (error) {
    const { code, what, why, fix } = explainOrThrow(error)
    isGone = code === 'RECORDED_AGENT_MISSING'
    can = error instanceof RunNotTrusted ? `${what} ${why}. ${fix}` : `${what} ${why}`
  }
  return { fork: can, rerun: can, step: isGone && hasRecordedCode(tape) ? true : can }
}
