import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { newRunId, TASK_VARIABLE } from '@retake/engine'
import type { ChaosReport, Divergence, ProcessTask } from '@retake/engine'
import type { Tape } from '@retake/tape'
import { openTape } from '@retake/tape/node'
import { project } from '../config/project.js'
import { Interrupted, preloadFlags, runAgent } from '../agent-process.js'
import { throwFailure } from '../record-agent.js'
import { loaderEnvironment, permissionFlags, startOf } from '../replay-command.js'
import { outcomeOf } from './outcome.js'
import type { Outcome } from './outcome.js'

/** A program that takes longer than this in one order is stuck in a loop of its own. */
const TIMEOUT_MS = 60_000

export interface Order {
  /** 0 is the recorded order. */
  readonly seed: number
  /** After this many choices the recorded order goes on. */
  readonly picks?: number
}

export interface TriedOrder extends Omit<ChaosReport, 'divergences'> {
  readonly seed: number
  readonly divergence: Divergence | undefined
  readonly outcome: Outcome
}

export interface TryOptions {
  /** Gets the path and the id of the tape before it is removed. */
  readonly onTape?: (file: string, id: string) => void
}

/** Runs the recorded program once, with its own answers in this order. Nothing reaches the outside. */
export async function tryOrder(
  tape: Tape,
  order: Order,
  { onTape }: TryOptions = {},
): Promise<TriedOrder> {
  const start = startOf(tape)
  // Resolved, because the permission to write is given for the real path.
  const temporary = mkdtempSync(path.join(realpathSync(tmpdir()), 'retake-'))
  try {
    const inside = (name: string): string => path.join(temporary, name)
    const id = newRunId()
    const retakeFlags = [...permissionFlags(temporary, start), ...preloadFlags(start)]
    const task: ProcessTask = {
      mode: 'chaos',
      source: path.resolve(tape.path),
      order,
      id,
      name: `${tape.run.name} (seed ${order.seed})`,
      tape: inside(`${id}.tape`),
      report: inside('report.json'),
      failure: inside('failure.json'),
      flagCount: retakeFlags.length,
      pureAddons: project().pureAddons,
    }
    const end = await runAgent({
      ...start,
      retakeFlags,
      env: {
        ...start.env,
        ...loaderEnvironment(temporary, start),
        [TASK_VARIABLE]: JSON.stringify(task),
      },
      stdio: 'ignore',
      timeoutMs: TIMEOUT_MS,
    })
    if (end.interruptedBy) throw new Interrupted(end.interruptedBy)
    throwFailure(inside('failure.json'))
    const { divergences, ...report } = readReport(task.report, end.code)
    const divergence = divergences[0] as Divergence | undefined
    if (onTape !== undefined && existsSync(task.tape)) onTape(task.tape, id)
    const outcome = existsSync(task.tape) ? outcomeOf(openTape(task.tape)) : NOTHING
    return { ...order, ...report, divergence, outcome }
  } finally {
    rmSync(temporary, { recursive: true, force: true })
  }
}

const NOTHING: Outcome = { stdout: [] }

/** Without a report the process was killed: it never came to an end. */
function readReport(file: string, exitCode: number): ChaosReport {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as ChaosReport
  } catch {
    const nothing = { divergences: [], picks: 0, swaps: [], unasked: [], cutShort: [] }
    return { ...nothing, exitCode, contacts: {}, wallMs: 0 }
  }
}
