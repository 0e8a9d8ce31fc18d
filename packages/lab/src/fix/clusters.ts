import { storedBlame, type RunStore, viewRun } from '@retake/runner/runs'
import { createHash } from 'node:crypto'
import path from 'node:path'
import { clusterFailures, type FailedRun, type FailureCluster } from '../proof/cluster-failures.js'
import { detectSymptoms, failureOf } from '../proof/symptoms.js'
import type { Tape } from '@retake/tape'
import { openTape } from '@retake/tape/node'
import { recordedRoot } from '@retake/runner/agent'
import { attempt } from '@retake/tape/format'
import { readOutcome } from '@retake/runner/oracle'

export interface ProgramCluster extends Omit<FailureCluster, 'runs' | 'key'> {
  /** Short and stable, for `retake fix --cluster`. */
  readonly id: string
  readonly program: string
  /** Set for traces of another tool, which name no program to fix. */
  readonly isImported?: true
  /** Newest first. */
  readonly runs: readonly {
    readonly id: string
    readonly tape: string
    readonly startedAt: number
  }[]
}

/** Groups the failed runs of a folder, largest cluster first, then the newest. */
export function clusterStore(store: RunStore, sinceMs: number | undefined): ProgramCluster[] {
  const programs = new Map<string, { tapes: Map<string, Tape>; failed: FailedRun[] }>()
  for (const id of store.ids()) {
    const tape = attempt(() => openTape(store.pathOf(id)))
    if (tape === undefined || tape.run.parent !== undefined) continue
    if (sinceMs !== undefined && tape.run.startedAt < sinceMs) continue
    const failed = attempt(() => failedRun(tape))
    if (failed === undefined) continue
    const program = programOf(tape)
    const group = programs.get(program) ?? { tapes: new Map<string, Tape>(), failed: [] }
    group.tapes.set(failed.run.id, tape)
    group.failed.push(failed)
    programs.set(program, group)
  }
  return [...programs]
    .flatMap(([program, { tapes, failed }]) =>
      clusterFailures(failed).map(({ key, runs, site, ...cluster }) => {
        const [newest] = runs
        const tape = newest && tapes.get(newest.run.id)
        const file = site?.replace(/^file:\/\//, '')
        const at = tape && file && path.resolve(tape.details.cwd ?? '.', file)
        const inProject = at && path.relative(recordedRoot(tape), at).replaceAll('\\', '/')
        return {
          ...cluster,
          id: createHash('sha256').update(`${program} ${key}`).digest('hex').slice(0, 8),
          program,
          ...(tape?.details.imported && { isImported: true as const }),
          ...(inProject && { site: inProject }),
          runs: runs.map(({ run }) => ({
            id: run.id,
            tape: tapes.get(run.id)?.path ?? '',
            startedAt: run.startedAt,
          })),
        }
      }),
    )
    .toSorted((a, b) => b.runs.length - a.runs.length || b.newestAt - a.newestAt)
}

/** Equal for runs that fail alike. Ignores causes, because most runs were not searched. */
export function clusterKey(tape: Tape, oracleReason: string): string {
  const run = viewRun(tape)
  const error = failureOf(run)
  const symptoms = detectSymptoms(run, error ? { error } : {})
  const [cluster] = clusterFailures([{ run, symptoms, oracleReason, ...(error && { error }) }])
  return cluster?.key ?? ''
}

/** Returns undefined if the run ended without an error, signal or failing exit code. */
function failedRun(tape: Tape): FailedRun | undefined {
  const { error: thrown, exitCode, signal, ended } = readOutcome(tape)
  const isFailed = thrown !== undefined || signal !== undefined || (ended && exitCode !== 0)
  if (!isFailed) return undefined
  const run = viewRun(tape)
  const error = failureOf(run)
  const findings = attempt(() => storedBlame(tape))?.findings
  return {
    run,
    symptoms: detectSymptoms(run, error ? { error } : {}),
    oracleReason: signal === undefined ? `exit code ${exitCode}` : `killed by ${signal}`,
    ...(error && { error }),
    ...(findings && { findings }),
  }
}

const programOf = ({ run, details: { cwd = '.', entry, command, imported } }: Tape): string =>
  imported !== undefined
    ? `${run.name} (imported)`
    : entry === undefined
      ? (command?.join(' ') ?? run.name)
      : path.resolve(cwd, entry)
