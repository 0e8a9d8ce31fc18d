import { ROLE_WORDS, intervalText, failuresText } from '@retake/tape/present'
import type { Run } from '../run/use-run.js'
import { RoleName } from './role-mark.js'
import { useBlame } from './use-blame.js'

/** What a step had to do with the failure, in a line of its header. Nothing where nobody asked. */
export function BlameLine({ run, label }: { readonly run: Run; readonly label: string }) {
  const { view } = useBlame(run)
  const step = view?.step(label)
  if (view === undefined || step === undefined) return null
  const { role, isNecessary, isSufficient, responsibility } = step
  const alone = view.aloneOf(label)
  const isCause = role === 'root' || role === 'joint' || role === 'back-up'
  const facts = [
    ['necessary', isNecessary ? 'yes' : 'no'],
    ['sufficient', isSufficient ? 'yes' : 'no'],
    ...(isCause ? [['responsibility', String(Math.round(responsibility * 100) / 100)]] : []),
    [
      'kept alone',
      alone === undefined || alone.forks === 0
        ? 'not tried'
        : `${failuresText(alone)}, ${intervalText(alone)}`,
    ],
  ] as const
  return (
    <p
      data-blame={role}
      className="mt-1 flex flex-wrap items-center gap-x-3 gap-y-0.5 text-sm"
      title={ROLE_WORDS[role]}
    >
      <span className="flex gap-1.5">
        <span className="text-muted">blame</span>
        <RoleName role={role} />
      </span>
      {(role === 'unknown' ? [] : facts).map(([name, value]) => (
        <span key={name}>
          <span className="text-muted">{name}</span> {value}
        </span>
      ))}
    </p>
  )
}
