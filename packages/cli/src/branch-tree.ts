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

/** How tapes are read for a tree; whoever asks often may remember what has not changed. */
export interface TreeReader {
  /** The first record of a tape; undefined when it cannot be read at all. */
  readRun(file: string): RunEvent | undefined
  readNode(id: string, file: string, run: RunEvent | undefined): OwnNode
}

/** A node by itself. */
export type OwnNode = Omit<BranchNode, 'branches'>

/** The whole tree that a run belongs to, from its first run down. */
export function branchTree(
  store: RunStore,
  id: string,
  reader: TreeReader = { readRun, readNode },
): BranchTree {
  const runs = new Map<string, RunEvent>()
  const unreadable: string[] = []
  for (const each of store.ids().toReversed()) {
    const run = reader.readRun(store.pathOf(each))
    if (run === undefined) unreadable.push(each)
    else runs.set(run.id, run)
  }
  // A forged tape could be its own ancestor.
  const seen = new Set<string>()
  const makeNode = (at: string): BranchNode => {
    seen.add(at)
    const own = reader.readNode(at, store.pathOf(at), runs.get(at))
    const children = [...runs.values()].filter(({ parent }) => parent?.run === at)
    return {
      ...own,
      branches: children.filter((run) => !seen.has(run.id)).map((run) => makeNode(run.id)),
    }
  }
  return { root: makeNode(rootOf(runs, id)), unreadable }
}

function rootOf(runs: ReadonlyMap<string, RunEvent>, id: string): string {
  const seen = new Set([id])
  let root = id
  for (;;) {
    const up = runs.get(root)?.parent?.run
    if (up === undefined || !runs.has(up) || seen.has(up)) return root
    seen.add(up)
    root = up
  }
}

export function readRun(file: string): RunEvent | undefined {
  try {
    return openOwnTape(file).run
  } catch (error) {
    if (explain(error) === undefined) throw error
    return undefined
  }
}

export function readNode(id: string, file: string, run: RunEvent | undefined): OwnNode {
  const summary = summarizeRun(id, file)
  const common = { id, name: run?.name ?? '', ...(run?.parent && { parent: run.parent }) }
  if ('error' in summary) return { ...common, error: summary.error }
  const tape = openTape(file)
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
