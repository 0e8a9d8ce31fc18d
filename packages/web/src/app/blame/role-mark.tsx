import type { BlamedStep, Rate, StepIntervention, StepRole } from '@retake/tape'
import { failuresText, intervalText, ROLE_WORDS, roleWord } from '@retake/tape/present'
import { KindMark } from '../design/badge.js'
import { classes } from '../design/classes.js'
import { RateBar } from '../design/rate-bar.js'
import { type Run, useRows } from '../run/data/use-run.js'
import { StepLink } from '../values/field.js'
import { VisibleText } from '../values/text.js'
import { isSeen, ROLE_LOOKS } from './blame-view.js'
import { useBlame } from './use-blame.js'

export const RateLine = ({ rate }: { rate: Rate }) => (
  <span className="inline-flex flex-wrap items-center gap-x-2 whitespace-nowrap">
    <RateBar {...(rate.forks > 0 && { share: rate.fails / rate.forks, interval: rate })} />
    <span className="min-w-24">{failuresText(rate)}</span>
    {rate.forks > 0 && (
      <span data-interval className="min-w-16 text-muted" title="95 %, valid at any stopping time">
        {intervalText(rate)}
      </span>
    )}
  </span>
)

const COLORS = {
  'role-cause': 'text-role-cause',
  'role-back-up': 'text-role-back-up',
  'role-echo': 'text-role-echo',
  muted: 'text-muted',
} as const

const roleColor = (role: StepRole): string =>
  isSeen(role) ? COLORS[ROLE_LOOKS[role].color] : 'text-muted'

/** Hidden from screen readers, because the name is next to it. */
function RoleMark({ role }: { role: StepRole }) {
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

interface RoleNameProps {
  readonly role: StepRole
  readonly intervention?: StepIntervention | undefined
}

export function RoleName({ role, intervention }: RoleNameProps) {
  const step = { role, ...(intervention && { intervention }) }
  return (
    <span
      className={classes('inline-flex shrink-0 items-center gap-1 text-sm', roleColor(role))}
      title={roleText(step)}
    >
      <RoleMark role={role} />
      {roleWord(step)}
    </span>
  )
}

/** The role of a step in a sentence. */
export const roleText = (step: Pick<BlamedStep, 'role' | 'intervention'>): string =>
  roleWord(step) === 'needed'
    ? 'The failure depends on this step. Its answer may still be correct.'
    : ROLE_WORDS[step.role]

interface RoleLegendProps {
  /** A step of each role. */
  readonly steps: readonly BlamedStep[]
  readonly className?: string
}

export const RoleLegend = ({ steps, className }: RoleLegendProps) => (
  <ul aria-label="Roles" className={classes('flex gap-x-2.5 whitespace-nowrap', className)}>
    {steps.map(({ role, intervention }) => (
      <li key={role} className="flex items-center">
        <RoleName role={role} intervention={intervention} />
      </li>
    ))}
  </ul>
)

/** Links to a searched step. Shows only its name if the run no longer has it. */
export function StepName({ run, label }: { run: Run; label: string }) {
  useRows(run.rows)
  const index = run.rows.indexOf(label)
  if (index < 0)
    return (
      <span className="text-muted" title="This run has no such step.">
        step {label}
      </span>
    )
  const { kind, title } = run.rows.at(index)
  return (
    <span className="flex max-w-full min-w-0 items-center gap-1.5">
      <KindMark kind={kind} />
      <span className="shrink-0 whitespace-nowrap [&>a]:inline-flex [&>a]:h-6 [&>a]:items-center">
        <StepLink label={label}>step {label}</StepLink>
      </span>
      <span className="min-w-0 truncate" title={title}>
        <VisibleText text={title.length > 160 ? `${title.slice(0, 160)}…` : title} />
      </span>
    </span>
  )
}

export function BlameLine({ run, label }: { run: Run; label: string }) {
  const { view } = useBlame(run)
  const step = view?.step(label)
  if (view === undefined || step === undefined) return null
  const { role, isNecessary, isSufficient } = step
  const alone = view.aloneOf(label)
  const facts = [
    ['necessary', isNecessary ? 'yes' : 'no'],
    ['sufficient', isSufficient ? 'yes' : 'no'],
    alone === undefined || alone.forks === 0
      ? role === 'clear'
        ? ['pinned with all clear steps', 'passed']
        : ['only this one pinned', 'not tried']
      : ['only this one pinned', `${failuresText(alone)}, ${intervalText(alone)}`],
  ] as const
  return (
    <p
      data-blame={role}
      className="mt-1 flex flex-wrap items-center gap-x-3 gap-y-0.5 text-sm"
      title={roleText(step)}
    >
      <span className="flex gap-1.5">
        <span className="text-muted">blame</span>
        <RoleName role={role} intervention={step.intervention} />
      </span>
      {(role === 'unknown' ? [] : facts).map(([name, value]) => (
        <span key={name}>
          <span className="text-muted">{name}</span> {value}
        </span>
      ))}
    </p>
  )
}

export function BlameSign({ run }: { run: Run }) {
  const { view } = useBlame(run)
  const role = view?.findings.causes[0]?.role
  return isSeen(role) ? <RoleMark role={role} /> : null
}
