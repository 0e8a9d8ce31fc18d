import { clipText, originOf } from '@retake/tape'
import type { BranchDetails, BranchEdit, Step, Tape } from '@retake/tape'
import { printable } from './printable.js'

/** What a branch is a branch of, where it left its parent, and what was changed, in one line; none for other runs. */
export function branchLines({ run, details: { branch } }: Tape, width: number): string[] {
  if (branch === undefined || run.parent === undefined) return []
  const [edit, ...more] = branch.edits
  const line = `${howText(branch)} of ${run.parent.run}`
  if (edit === undefined) return [line]
  const rest = more.length > 0 ? ` and ${more.length} more` : ''
  const room = Math.max(20, width - line.length - rest.length - 3)
  return [`${line} · ${editText(edit, room)}${rest}`]
}

/** Where the answer of a step came from, and what was changed there. The tape holds what the parent asked. */
export function stepBranchLines(tape: Tape, step: Step, width: number): string[] {
  const origin = originOf(tape, step)
  if (origin === undefined) return []
  const { branch } = tape.details
  const edits = branch?.at === step.label ? branch.edits : []
  return [
    `${origin}${ORIGINS[origin]}`,
    ...edits.map((edit) => `changed ${editText(edit, width - 8)}`),
  ]
}

const ORIGINS = {
  served: ': its answer is the one of the parent',
  edited: ': its answer was put in by the fork',
  lost: ': it was under way when the run went live, and could not go on',
  live: '',
} as const

/** One edit in one line. */
export function editText({ target, path, value }: BranchEdit, width: number): string {
  const text = JSON.stringify(value) ?? 'nothing'
  const line = `${target}${path === undefined ? '' : ` ${path}`} = ${printable(text)}`
  return clipText(line, width)
}

/** `fork at step 4`, `rerun`. */
export const howText = ({ kind, at }: BranchDetails): string =>
  at === undefined ? kind : `${kind} at ${atText(at)}`

/** `step 4`, or `event 17`. */
export const atText = (at: string): string =>
  /^e\d/.test(at) ? `event ${at.slice(1)}` : `step ${at}`
