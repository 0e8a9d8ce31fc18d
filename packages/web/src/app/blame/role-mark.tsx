import type { StepRole } from '@retake/tape'
import { ROLE_WORDS } from '@retake/tape/present'
import { classes } from '../design/classes.js'
import { isSeen, ROLE_LOOKS, type SeenRole } from './role-shapes.js'

const COLORS = {
  'role-cause': 'text-role-cause',
  'role-back-up': 'text-role-back-up',
  'role-echo': 'text-role-echo',
  muted: 'text-muted',
} as const

export const roleColor = (role: StepRole): string =>
  isSeen(role) ? COLORS[ROLE_LOOKS[role].color] : 'text-muted'

/** The form of a role. It says nothing to a screen reader: its name stands beside it. */
export function RoleMark({ role }: { readonly role: StepRole }) {
  if (!isSeen(role)) return null
  const { path, isFilled } = ROLE_LOOKS[role]
  return (
    <svg
      viewBox="0 0 12 12"
      width="12"
      height="12"
      aria-hidden="true"
      className={classes('shrink-0', roleColor(role))}
    >
      <path d={path} fill={isFilled ? 'currentColor' : 'none'} stroke="currentColor" />
    </svg>
  )
}

/** A role in a word, with its form. */
export function RoleName({ role }: { readonly role: StepRole }) {
  return (
    <span
      className={classes('inline-flex shrink-0 items-center gap-1 text-sm', roleColor(role))}
      title={ROLE_WORDS[role]}
    >
      <RoleMark role={role} />
      {role === 'unknown' ? 'not reached' : role}
    </span>
  )
}

export interface RoleLegendProps {
  readonly roles: readonly SeenRole[]
  readonly className?: string
}

/** Which form means what. */
export function RoleLegend({ roles, className }: RoleLegendProps) {
  return (
    <ul aria-label="Roles" className={classes('flex gap-x-2.5 whitespace-nowrap', className)}>
      {roles.map((role) => (
        <li key={role} className="flex items-center">
          <RoleName role={role} />
        </li>
      ))}
    </ul>
  )
}
