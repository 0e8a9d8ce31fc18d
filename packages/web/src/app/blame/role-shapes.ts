import type { StepRole } from '@retake/tape'

/** What a role looks like. A form for each, so that it can be told without colour. */
export interface RoleLook {
  /** A path on 12 × 12, the same in the page and on the canvas of the timeline. */
  readonly path: string
  readonly isFilled: boolean
  /** Name of its colour in `tokens.css`. */
  readonly color: 'role-cause' | 'role-back-up' | 'role-echo' | 'muted'
}

const DIAMOND = 'M6 .8 11.2 6 6 11.2.8 6Z'

/** Roles that are seen on the timeline; the others had nothing to do with it, or nobody knows. */
export const ROLE_LOOKS = {
  root: { path: DIAMOND, isFilled: true, color: 'role-cause' },
  joint: {
    path: 'M4.6 1.6.6 6 4.6 10.4ZM7.4 1.6 11.4 6 7.4 10.4Z',
    isFilled: true,
    color: 'role-cause',
  },
  'back-up': { path: DIAMOND, isFilled: false, color: 'role-back-up' },
  echo: {
    path: 'M6 1.4A4.6 4.6 0 1 1 6 10.6 4.6 4.6 0 0 1 6 1.4ZM6 4.4A1.6 1.6 0 1 1 6 7.6 1.6 1.6 0 0 1 6 4.4Z',
    isFilled: false,
    color: 'role-echo',
  },
  affected: { path: 'M3.4 6H8.6', isFilled: false, color: 'muted' },
} as const satisfies Partial<Record<StepRole, RoleLook>>

export type SeenRole = keyof typeof ROLE_LOOKS
export const SEEN_ROLES = Object.keys(ROLE_LOOKS) as readonly SeenRole[]
export const isSeen = (role: StepRole | undefined): role is SeenRole =>
  role !== undefined && Object.hasOwn(ROLE_LOOKS, role)
