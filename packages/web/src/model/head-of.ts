import type { RunView, Tape } from '@retake/tape'
import type { LaneHead, RunHead, RunStatus } from './run-head.js'

/** All that is small about a run. */
export function headOf(
  tape: Tape,
  view: RunView,
  { status, redacted }: { readonly status: RunStatus; readonly redacted: boolean },
): RunHead {
  const { details } = tape
  const { exit, parent } = view
  return {
    id: view.id,
    name: view.name,
    startedAt: view.startedAt,
    durationMs: view.durationMs,
    status,
    ...(exit && { exit }),
    node: view.node,
    ...(parent && { parent }),
    ...(details.branch && { branch: details.branch }),
    command: details.command ?? [details.entry ?? '', ...(details.args ?? [])].filter(Boolean),
    ...(details.cwd !== undefined && { cwd: details.cwd }),
    ...(details.platform !== undefined && { platform: details.platform }),
    events: tape.count,
    counts: view.counts,
    recordedSteps: view.recordedSteps.length,
    lanes: lanesOf(view),
    boundaryNotes: view.boundaryNotes,
    tornBytes: tape.tornBytes,
    ...(redacted && { redacted }),
  }
}

function lanesOf({ lanes, recordedSteps }: RunView): LaneHead[] {
  const stepAt = new Map(recordedSteps.map((step) => [step.seq, step]))
  const depths = new Map<number, number>()
  return lanes.map(({ id, parent, steps }) => {
    const depth = parent === undefined ? 0 : (depths.get(parent) ?? 0) + 1
    depths.set(id, depth)
    const first = stepAt.get(steps[0] ?? -1)
    const place = first?.within.findLast(({ kind }) => kind !== 'tool' && kind !== 'server')
    return {
      id,
      ...(parent !== undefined && { parent }),
      depth,
      ...(place && { name: place.name }),
    }
  })
}
