import type { Drift } from '@retake/tape'
import type { Denial } from '../guard-error.js'
import type { GuardedTool } from '../guarded-tool.js'

/** A result beside what was promised: what drifted, and why it is not handed on, if it is not. */
export interface CheckedOutput {
  readonly value: unknown
  readonly drift: readonly Drift[]
  readonly denial?: Denial
}

/** Checks what a tool returned. Asynchronous only when the schema is. */
export function checkOutput(
  _tool: GuardedTool,
  value: unknown,
): CheckedOutput | Promise<CheckedOutput> {
  return { value, drift: [] }
}
