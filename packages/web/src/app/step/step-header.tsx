import { Badge } from '../design/badge.js'
import type { StepDetail } from '../../model/step-detail.js'
import type { Run } from '../run/use-run.js'
import { Field } from './field/field-links.js'
import { StepActions } from './step-actions.js'
import { factsOf } from './step-facts.js'
import { StepLink } from './step-link.js'
import { VisibleText } from './text/visible-text.js'

const KINDS: Readonly<Record<StepDetail['kind'], string>> = {
  model: 'text-kind-model',
  tool: 'text-kind-tool',
  http: 'text-kind-http',
  mcp: 'text-kind-mcp',
  process: 'text-kind-process',
  mark: 'text-kind-mark',
}

const STATES: Readonly<
  Partial<Record<StepDetail['state'], { tone: 'danger' | 'warning' | 'accent'; title: string }>>
> = {
  failed: { tone: 'danger', title: 'It ended in an error' },
  aborted: { tone: 'warning', title: 'The agent gave up on it' },
  'in doubt': {
    tone: 'warning',
    title: 'It left, and its answer is not on the tape: it may have had its effect',
  },
  running: { tone: 'accent', title: 'No answer yet, and the run goes on' },
}

const BADGES: Readonly<Record<StepDetail['badge'], string>> = {
  live: 'It was really asked, and recorded',
  served: "Its answer came from the parent's tape",
  edited: 'A fork put this answer there',
  lost: 'It was under way when the run went live',
  're-executed': 'No answer from outside: the code ran again',
}

/** What a step is, how it went, and what can be done with it. */
export function StepHeader({ run, detail }: { readonly run: Run; readonly detail: StepDetail }) {
  const state = STATES[detail.state]
  return (
    <header className="shrink-0 border-b border-line px-3 pt-2 pb-1.5">
      <div className="flex items-start gap-2">
        <h2 className="min-w-0 flex-1">
          <span className="mr-2 text-muted tabular-nums">{detail.label}</span>
          <span className={`mr-2 text-sm ${KINDS[detail.kind]}`}>{detail.kind}</span>
          <span className="line-clamp-3 inline font-medium [overflow-wrap:anywhere]">
            <VisibleText text={detail.title} />
          </span>
        </h2>
        <StepActions run={run} detail={detail} />
      </div>
      <div className="mt-1 flex flex-wrap items-center gap-x-3 gap-y-0.5 text-sm">
        <span className="flex gap-1">
          {state && (
            <Badge tone={state.tone} title={state.title}>
              {detail.state}
            </Badge>
          )}
          <Badge
            tone={detail.badge === 'edited' ? 'accent' : 'neutral'}
            title={BADGES[detail.badge]}
          >
            {detail.badge}
          </Badge>
          {detail.inferred && (
            <Badge title="Not recorded itself: it is seen in the conversation">inferred</Badge>
          )}
        </span>
        {factsOf(detail, run.head).map(({ path, name, value, isUnknown }) => (
          <Field key={path} path={path} className="max-w-full">
            <span className="text-muted">{name}</span>{' '}
            <span className={isUnknown ? 'text-muted italic' : '[overflow-wrap:anywhere]'}>
              <VisibleText text={value} />
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
      {detail.error !== undefined && (
        <p className="mt-1 line-clamp-3 text-danger [overflow-wrap:anywhere]">
          <VisibleText text={detail.error} />
        </p>
      )}
    </header>
  )
}

/** `agent › node › tool`, outermost first. */
function Places({ detail: { places } }: { readonly detail: StepDetail }) {
  if (places.length === 0) return null
  return (
    <Field path="places" className="max-w-full">
      <span className="text-muted">in</span>{' '}
      {places.map(({ kind, name }, place) => (
        <span key={place} className="[overflow-wrap:anywhere]">
          {place > 0 && <span className="text-muted"> › </span>}
          <span title={kind}>
            <VisibleText text={name} />
          </span>
        </span>
      ))}
    </Field>
  )
}
