import type { StepKind } from '@retake/tape'
import { Link } from '@tanstack/react-router'
import { KINDS } from '@retake/tape/present'
import type { ComparedStep } from '../../api/run-comparison.js'
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
  'only a': { tone: 'danger', text: 'only in a' },
  'only b': { tone: 'good', text: 'only in b' },
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
      className="scroll-mt-2 rounded border border-line focus:border-accent focus:ring-1 focus:ring-accent"
    >
      <header className="relative grid bg-raised py-1 max-md:pr-24 md:grid-cols-2">
        <StepTitle
          kind={step.kind}
          run={runs[0]}
          step={step.a}
          name={names[0]}
          title={step.title}
        />
        <StepTitle
          kind={step.kind}
          run={runs[1]}
          step={step.b}
          name={names[1]}
          title={step.titleB ?? step.title}
        />
        <span className="absolute top-1 right-2 flex gap-1">
          {moved && <Badge tone="warning">moved</Badge>}
          {!(moved && verdict === 'same') && <Badge tone={tone}>{text}</Badge>}
        </span>
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

interface StepTitleProps {
  readonly kind: string
  readonly run: string
  /** Label of the step; undefined where this run has none. */
  readonly step: string | undefined
  readonly name: string
  readonly title: string
}

function StepTitle({ kind, run, step, name, title }: StepTitleProps) {
  if (step === undefined)
    return <span className="hidden px-2 text-sm text-muted md:block">not in {name}</span>
  return (
    <span className="flex min-w-0 items-center gap-2 px-2 md:even:pr-24">
      <span className="shrink-0 font-mono text-sm text-muted">{name}</span>
      {isKind(kind) && <KindMark kind={kind} />}
      <Link
        to="/runs/$run"
        params={{ run }}
        search={{ step }}
        className="inline-flex min-h-6 min-w-6 shrink-0 items-center justify-center text-accent tabular-nums hover:underline"
        aria-label={`step ${step} of run ${name}`}
      >
        {step}
      </Link>
      <span className="min-w-0 truncate font-mono text-sm" title={title}>
        {title}
      </span>
    </span>
  )
}
