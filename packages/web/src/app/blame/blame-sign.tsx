import type { Run } from '../run/use-run.js'
import { isSeen } from './role-shapes.js'
import { RoleMark } from './role-mark.js'
import { useBlame } from './use-blame.js'

/** The form of the first cause, beside the word; nothing where none is known. */
export function BlameSign({ run }: { readonly run: Run }) {
  const { view } = useBlame(run)
  const role = view?.findings.causes[0]?.role
  return isSeen(role) ? <RoleMark role={role} /> : null
}
