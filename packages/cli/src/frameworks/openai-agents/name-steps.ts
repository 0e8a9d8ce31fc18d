import { placesFrom } from '@retake/engine'
import type { Place } from '@retake/tape'
import { onceAProgram } from '../once-a-program.js'
import { requireVersion } from '../supported-version.js'

/** What is read of a span of `@openai/agents`, with tracing on or off. */
export interface AgentsSpan {
  readonly spanId: string
  readonly spanData: { readonly type: string }
  /** The span around this one; the SDK's own type has it as `any`. */
  readonly previousSpan?: unknown
}

/** The part of `@openai/agents` that is asked where a step happens. */
export interface AgentsContext {
  getCurrentSpan(): AgentsSpan | null
  getCurrentTrace(): { readonly name: string } | null
}

/**
 * Gives every step the workflow, agent and tool of the OpenAI Agents SDK that it
 * happens in:
 *
 *     import { getCurrentSpan, getCurrentTrace } from '@openai/agents'
 *     nameSteps({ getCurrentSpan, getCurrentTrace })
 *
 * Only reads the SDK's own context, so it also works with tracing disabled, and
 * nothing is exported that was not before. Returns its undo.
 */
export const nameSteps = onceAProgram((agents: AgentsContext) => {
  requireVersion({ package: '@openai/agents', from: '0.20', to: '0' })
  return placesFrom(() => [
    ...workflowOf(agents.getCurrentTrace()?.name),
    ...placesOf(agents.getCurrentSpan()),
  ])
})

/** What the SDK calls a run that has no name. */
const UNNAMED = 'Agent workflow'

const workflowOf = (name: string | undefined): Place[] =>
  name === undefined || name === UNNAMED ? [] : [{ kind: 'workflow', name }]

function placesOf(innermost: AgentsSpan | null): Place[] {
  const places: Place[] = []
  let span: AgentsSpan | undefined = innermost ?? undefined
  while (span !== undefined) {
    const place = placeOf(span)
    if (place !== undefined) places.unshift(place)
    span = (span.previousSpan as AgentsSpan | null | undefined) ?? undefined
  }
  return places
}

/** What spans of the SDK carry, by type. */
interface SpanNames {
  readonly name?: string
  readonly server?: string
}

/** Tasks, turns, generations and responses name no place: they are the run and its steps. */
function placeOf(span: AgentsSpan): Place | undefined {
  const { name, server } = span.spanData as SpanNames
  switch (span.spanData.type) {
    case 'agent':
      return named('agent', name, span)
    case 'function':
      return named('tool', name, span)
    case 'handoff':
      // To whom is only known when it is over.
      return named('node', 'handoff', span)
    case 'guardrail':
    case 'custom':
      return named('node', name, span)
    case 'mcp_tools':
      return named('server', server, span)
    default:
      return undefined
  }
}

function named(kind: Place['kind'], name: string | undefined, span: AgentsSpan): Place | undefined {
  if (name === undefined) return undefined
  // With tracing disabled all spans have this id.
  return span.spanId === 'no-op' ? { kind, name } : { kind, name, id: span.spanId }
}
