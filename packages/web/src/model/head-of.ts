import type { BranchDetails, RunView, Tape } from '@retake/tape'
import type { RunStatus } from '@retake/tape/present'
import { clip, cutText } from './clip.js'
import { clipError } from './clip-message.js'
import type { LaneHead, RunHead } from './run-head.js'
import { siteInStack } from './site-in-stack.js'

/** Characters of a name or of one argument; kinds of notes, each of which is told once. */
const LINE = 2000
const NOTES_MAX = 1000

export interface HeadOptions {
  readonly status: RunStatus
  readonly redacted: boolean
  readonly lanes: readonly LaneHead[]
}

/** All that is small about a run. */
export function headOf(
  tape: Tape,
  view: RunView,
  { status, redacted, lanes }: HeadOptions,
): RunHead {
  const { details } = tape
  const { exit, parent } = view
  const exitSite = siteInStack(exit?.error)
  return {
    id: view.id,
    name: cutText(view.name, LINE),
    startedAt: view.startedAt,
    durationMs: view.durationMs,
    status,
    ...(exit && { exit: { ...exit, ...(exit.error && { error: clipError(exit.error) }) } }),
    ...(exitSite !== undefined && { exitSite }),
    node: view.node,
    ...(parent && { parent }),
    ...(details.branch && { branch: clipBranch(details.branch) }),
    recorded: recordedOf(tape),
    command: commandOf(tape).map((part) => cutText(part, LINE)),
    ...(details.cwd !== undefined && { cwd: details.cwd }),
    ...(details.platform !== undefined && { platform: details.platform }),
    events: tape.count,
    counts: view.counts,
    recordedSteps: view.recordedSteps.length,
    lanes,
    notCaptured: view.notCaptured.slice(0, NOTES_MAX),
    tornBytes: tape.tornBytes,
    ...(!tape.isComplete && status !== 'recording' && { cutOff: true as const }),
    ...(redacted && { redacted }),
  }
}

/** A fork may have put a whole answer there. */
const clipBranch = (branch: BranchDetails): BranchDetails => ({
  ...branch,
  edits: branch.edits.map((edit) => ({ ...edit, value: clip(edit.value) })),
})

function recordedOf({ run, details }: Tape): NonNullable<RunHead['recorded']> {
  if (details.command !== undefined) return 'command'
  return run.scope === 'function' ? 'function' : 'program'
}

const commandOf = ({ details }: Tape): readonly string[] =>
  details.command ?? [details.entry ?? '', ...(details.args ?? [])].filter(Boolean)
