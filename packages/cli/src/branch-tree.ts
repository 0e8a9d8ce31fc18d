import type { BranchDetails, RunEvent, RunView } from '@retake/tape'
import { openOwnTape, openTape } from '@retake/tape/node'
import { branchFacts } from './branch-facts.js'
import type { BranchFacts } from './branch-facts.js'
import { explain } from './print-error.js'
import type { Explained } from './print-error.js'
import type { RunStore } from './run-store.js'
import { summarizeRun } from './run-summary.js'
import type { RunStatus } from './run-summary.js'
import { viewRun } from './view-run.js'

/** A run and the branches that go on from it, oldest first. */
export interface BranchNode {
  readonly id: string
  readonly name: string
  readonly status?: RunStatus
  readonly exitCode?: number
  /** How it came to be; the first run of a tree has none. */
  readonly branch?: BranchDetails
  readonly parent?: RunEvent['parent']
  readonly facts?: BranchFacts
  readonly steps?: number
  readonly startedAt?: number
  readonly durationMs?: number
  readonly costUsd?: number | undefined
  /** The last line it printed: often what it came to. */
  readonly lastLine?: string
  /** Why it cannot be read. */
  readonly error?: Explained
  readonly branches: readonly BranchNode[]
}

export interface BranchTree {
  readonly root: BranchNode
  /** Tapes that cannot be read at all: they may be branches, too. */
  readonly unreadable: readonly string[]
}

/** The whole tree that a run belongs to, from its first run down. */
export function branchTree(store: RunStore, id: string): BranchTree {
  const { runs, unreadable } = readRuns(store)
  let root = id
  for (let up = runs.get(root)?.parent?.run; up !== undefined; up = runs.get(root)?.parent?.run) {
    if (!runs.has(up)) break
    root = up
  }
  return { root: makeNode(store, runs, root), unreadable }
}

function readRuns(store: RunStore): { runs: Map<string, RunEvent>; unreadable: string[] } {
  const runs = new Map<string, RunEvent>()
  const unreadable: string[] = []
  for (const id of store.ids().toReversed()) {
    try {
      const { run } = openOwnTape(store.pathOf(id))
      runs.set(run.id, run)
    } catch (error) {
      if (explain(error) === undefined) throw error
      unreadable.push(id)
    }
  }
  return { runs, unreadable }
}

function makeNode(store: RunStore, runs: ReadonlyMap<string, RunEvent>, id: string): BranchNode {
  const branches = [...runs.values()]
    .filter(({ parent }) => parent?.run === id)
    .map((run) => makeNode(store, runs, run.id))
  const run = runs.get(id)
  const path = store.pathOf(id)
  const summary = summarizeRun(id, path)
  const common = { id, name: run?.name ?? '', ...(run?.parent && { parent: run.parent }), branches }
  if ('error' in summary) return { ...common, error: summary.error }
  const tape = openTape(path)
  const view = viewRun(tape)
  const { branch } = tape.details
  return {
    ...common,
    status: summary.status,
    ...(view.exit?.code !== undefined && { exitCode: view.exit.code }),
    ...(branch && { branch, facts: branchFacts(tape, view) }),
    steps: summary.steps,
    startedAt: summary.startedAt,
    durationMs: summary.durationMs,
    ...(summary.costUsd !== undefined && { costUsd: summary.costUsd }),
    ...lastLineOf(view),
  }
}

const LINE_MAX = 200

/** Of both streams together; lines without a letter or digit say nothing. */
function lastLineOf(view: RunView): { lastLine?: string } {
  let text = ''
  for (const event of view.outputs.toReversed()) {
    text = Buffer.from(view.outputBytes(event)).toString() + text
    const line = text.split('\n').findLast((each) => /[\p{L}\p{N}]/u.test(each))
    const isWhole = text.trimEnd().includes('\n') || event === view.outputs[0]
    if (line !== undefined && (isWhole || text.length > LINE_MAX))
      return { lastLine: line.length > LINE_MAX ? `${line.slice(0, LINE_MAX)}…` : line }
  }
  return {}
}
