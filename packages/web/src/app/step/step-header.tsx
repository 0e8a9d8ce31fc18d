import { BlameLine } from '../blame/blame-line.js'
import { Badge } from '../design/badge.js'
import { KIND_NAMES, KindMark } from '../design/kind-mark.js'
import { OriginBadge, StateBadge } from '../design/status-badges.js'
import type { StepDetail } from '../../model/step-detail.js'
import type { Run } from '../run/use-run.js'
import { Field } from './field/field-links.js'
import { placed } from './placed.js'
import { StepActions } from './step-actions.js'
import { factsOf } from './step-facts.js'
import { StepLink } from './step-link.js'
import { VisibleText } from './text/visible-text.js'

/** What a step is, how it went, and what can be done with it. */
export function StepHeader({ run, detail }: { readonly run: Run; readonly detail: StepDetail }) {
  return (
    <header className="max-h-[45%] shrink-0 overflow-y-auto border-b border-line px-3 pt-2 pb-1.5">
      <div className="flex items-start gap-2">
        <h2 className="min-w-0 flex-1">
          <KindMark kind={detail.kind} isDecorative className="mr-1.5 inline align-text-bottom" />
          <span className="mr-2 text-muted">
            {detail.label} {KIND_NAMES[detail.kind]}
          </span>
          <Field path="title" isInline className="font-medium [overflow-wrap:anywhere]">
            <VisibleText text={detail.title} />
          </Field>
        </h2>
        <StepActions run={run} detail={detail} />
      </div>
      <div className="mt-1 flex flex-wrap items-center gap-x-3 gap-y-0.5 text-sm">
        <span className="flex gap-1">
          <StateBadge state={detail.state} />
          {!detail.inferred && <OriginBadge origin={detail.origin} />}
          {detail.inferred && (
            <Badge title="Not recorded itself: it is seen in the conversation">inferred</Badge>
          )}
        </span>
        {factsOf(detail, run.head).map(({ path, name, value, isUnknown }) => (
          <Field key={path} path={path} isInline className="max-w-full">
            <span className="text-muted">{name}</span>{' '}
            <span className={isUnknown ? 'text-muted italic' : '[overflow-wrap:anywhere]'}>
              <VisibleText text={shortValue(value)} />
            </span>
          </Field>
        ))}
        <Places detail={detail} />
        {detail.parent !== undefined && (
          <span>
            <span className="text-muted">asked for by</span>{' '}
            <StepLink label={detail.parent}>step {detail.parent}</StepLink>
          </span>
        )}
      </div>
      <BlameLine run={run} label={detail.label} />
      {detail.error !== undefined && !detail.title.includes(detail.error) && (
        <p className="mt-1 line-clamp-3 text-danger [overflow-wrap:anywhere]">
          <Field path="error" isInline>
            <VisibleText text={detail.error} />
          </Field>
        </p>
      )}
    </header>
  )
}

/** Names come from outside: one may not take the place of all others. Where it is from has it whole. */
const shortValue = (value: string): string =>
  value.length > 120 ? `${value.slice(0, 120)}…` : value

/** `agent › node › tool`, outermost first. */
function Places({ detail: { places } }: { readonly detail: StepDetail }) {
  if (places.length === 0) return null
  return (
    <span className="max-w-full [overflow-wrap:anywhere]">
      <span className="text-muted">in</span>{' '}
      {placed(places).map(({ place, it: { kind, name } }) => (
        <span key={place}>
          {place > 0 && <span className="text-muted"> › </span>}
          <Field path={`places.${place}`} isInline>
            <span className="text-muted">{kind}</span> <VisibleText text={shortValue(name)} />
          </Field>
        </span>
      ))}
    </span>
  )
}
