import type { Place } from '@retake/tape'
import type { Context, OpenTelemetry, Span, Tracer, TracerProvider } from './open-telemetry.js'

/** What ADK's spans are called, before the name of what they are about. */
const KINDS: Readonly<Record<string, Place['kind']>> = {
  invoke_workflow: 'workflow',
  execute_node: 'node',
  invoke_agent: 'agent',
  execute_tool: 'tool',
}

const ADK_TRACER = 'gcp.vertex.agent'

interface Known {
  readonly place: Place | undefined
  readonly parent: Span | undefined
}

/**
 * Stands before the tracers of a program and notes which span lies in which. The
 * spans are those of the tracers behind it, if there are any.
 */
export class SpanPlaces implements TracerProvider {
  readonly #known = new WeakMap<Span, Known>()

  constructor(
    readonly api: OpenTelemetry,
    /** Asked each time: a program may set up its telemetry later. */
    readonly behind: () => TracerProvider,
  ) {}

  getTracer(tracerName: string, ...rest: unknown[]): Tracer {
    const { api } = this
    const startSpan: Tracer['startSpan'] = (name, options, context = api.context.active()) => {
      const span = this.behind()
        .getTracer(tracerName, ...rest)
        .startSpan(name, options, context)
      const place = tracerName === ADK_TRACER ? placeOf(name) : undefined
      this.#known.set(span, { place, parent: api.trace.getSpan(context) })
      return span
    }
    return {
      startSpan,
      startActiveSpan: (name, ...given) => {
        const body = given.at(-1) as (span: Span) => unknown
        const [options, context = api.context.active()] = given.slice(0, -1) as [object?, Context?]
        const span = startSpan(name, options, context)
        return api.context.with(api.trace.setSpan(context, span), () => body(span))
      },
    }
  }

  /** The places around the caller, outermost first. */
  current(): Place[] {
    const places: Place[] = []
    let span = this.api.trace.getSpan(this.api.context.active())
    while (span !== undefined) {
      const known = this.#known.get(span)
      if (known?.place !== undefined && !isShellOf(known.place, places[0]))
        places.unshift(known.place)
      span = known?.parent
    }
    return places
  }
}

/** An agent or workflow that runs as a node has a span of each kind, under one name. */
const isShellOf = (outer: Place, inner: Place | undefined): boolean =>
  outer.kind === 'node' &&
  outer.name === inner?.name &&
  (inner.kind === 'agent' || inner.kind === 'workflow')

function placeOf(spanName: string): Place | undefined {
  const at = spanName.indexOf(' ')
  const kind = KINDS[spanName.slice(0, Math.max(0, at))]
  const name = spanName.slice(at + 1)
  return kind === undefined || name === '(merged)' ? undefined : { kind, name }
}
