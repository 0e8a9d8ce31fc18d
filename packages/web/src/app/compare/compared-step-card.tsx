import type { StepKind } from '@retake/tape'
import { Link } from '@tanstack/react-router'
import type { ComparedStep } from '../../api/home.js'
import { KINDS } from '../../model/step-rows.js'
import { Badge, type BadgeProps } from '../design/badge.js'
import { KindMark } from '../design/kind-mark.js'
import { TextDiff } from './text-diff.js'

export interface ComparedStepCardProps {
  readonly step: ComparedStep
  /** Ids of the two runs. */
  readonly runs: readonly [a: string, b: string]
  readonly names: readonly [a: string, b: string]
}

const VERDICTS: Readonly<
  Record<ComparedStep['verdict'], { readonly tone: BadgeProps['tone']; readonly text: string }>
> = {
  same: { tone: 'neutral', text: 'same' },
  changed: { tone: 'warning', text: 'changed' },
  'only a': { tone: 'danger', text: 'only in the first' },
  'only b': { tone: 'good', text: 'only in the second' },
}

/** One pair of steps, with what differs between them. */
export function ComparedStepCard({ step, runs, names }: ComparedStepCardProps) {
  const { verdict, moved = false, differences, carried = 0 } = step
  const differs = verdict !== 'same' || moved
  const { tone, text } = VERDICTS[verdict]
  return (
    <article
      {...(differs && { 'data-difference': true, tabIndex: -1 })}
      aria-label={`${step.title}: ${text}`}
      className="scroll-mt-2 rounded border border-line"
    >
      <header className="flex flex-wrap items-center gap-x-2 gap-y-1 bg-raised px-2 py-1">
        {isKind(step.kind) && <KindMark kind={step.kind} />}
        <StepLink run={runs[0]} step={step.a} name={names[0]} />
        <StepLink run={runs[1]} step={step.b} name={names[1]} />
        <span className="min-w-0 flex-1 basis-40 truncate font-mono text-sm">
          {step.title}
          {step.titleB !== undefined && <span className="text-muted"> → {step.titleB}</span>}
        </span>
        {moved && <Badge tone="warning">in another order</Badge>}
        {!(moved && verdict === 'same') && <Badge tone={tone}>{text}</Badge>}
      </header>
      {(differences.length > 0 || carried > 0) && (
        <div className="flex flex-col gap-2 border-t border-line p-2">
          {differences.map((difference) => (
            <div key={difference.what}>
              <TextDiff {...difference} names={names} />
              {difference.cut === true && (
                <p className="text-sm text-muted">
                  The texts are longer; open the step to see all of them.
                </p>
              )}
            </div>
          ))}
          {carried > 0 && (
            <p className="text-sm text-muted">
              {carried === 1 ? '1 message differs' : `${carried} messages differ`} as an earlier
              step has shown, and {carried === 1 ? 'is' : 'are'} only carried along.
            </p>
          )}
        </div>
      )}
    </article>
  )
}

const isKind = (kind: string): kind is StepKind => (KINDS as readonly string[]).includes(kind)

function StepLink({ run, step, name }: { run: string; step: string | undefined; name: string }) {
  if (step === undefined) return <span className="w-8 text-center text-muted">–</span>
  return (
    <Link
      to="/runs/$run"
      params={{ run }}
      search={{ step }}
      className="min-w-8 text-center text-accent tabular-nums hover:underline"
      aria-label={`step ${step} of the ${name} run`}
    >
      {step}
    </Link>
  )
}
