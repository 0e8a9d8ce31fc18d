/** `retake/google-adk`: names the steps of Google's Agent Development Kit. */
import { outsideRuns, scopesFrom } from '@retake/engine'
import { attempt } from '@retake/tape/format'
import { oncePerProgram, requireVersion } from './adapter.js'
import { AsyncLocalStorage } from 'node:async_hooks'
import type { FrameworkScope } from '@retake/tape'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { cliErrors } from '@retake/runner/errors'

const KINDS: Readonly<Record<string, FrameworkScope['kind']>> = {
  invoke_workflow: 'workflow',
  execute_node: 'node',
  invoke_agent: 'agent',
  execute_tool: 'tool',
}

/** Wraps the tracers of a program, if it has any, and tracks how spans are nested. */
class SpanScopes implements TracerProvider {
  readonly #known = new WeakMap<
    Span,
    { readonly scope: FrameworkScope | undefined; readonly parent: Span | undefined }
  >()

  constructor(
    readonly api: OpenTelemetry,
    /** Called each time, because a program may set up its telemetry later. */
    readonly behind: () => TracerProvider,
  ) {}

  getTracer(tracerName: string, ...rest: unknown[]): Tracer {
    const { api } = this
    const startSpan: Tracer['startSpan'] = (name, options, context = api.context.active()) => {
      const span = this.behind()
        .getTracer(tracerName, ...rest)
        .startSpan(name, options, context)
      const scope = tracerName === 'gcp.vertex.agent' ? scopeOf(name) : undefined
      this.#known.set(span, { scope, parent: api.trace.getSpan(context) })
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

  current(): FrameworkScope[] {
    const scopes: FrameworkScope[] = []
    let span = this.api.trace.getSpan(this.api.context.active())
    while (span !== undefined) {
      const { scope, parent } = this.#known.get(span) ?? {}
      const [inner] = scopes
      // An agent or workflow that runs as a node has two spans under one name, one of each kind.
      const isShell =
        scope?.kind === 'node' &&
        scope.name === inner?.name &&
        (inner.kind === 'agent' || inner.kind === 'workflow')
      if (scope !== undefined && !isShell) scopes.unshift(scope)
      span = parent
    }
    return scopes
  }
}

function scopeOf(spanName: string): FrameworkScope | undefined {
  const at = spanName.indexOf(' ')
  const kind = KINDS[spanName.slice(0, Math.max(0, at))]
  const name = spanName.slice(at + 1)
  return kind === undefined || name === '(merged)' ? undefined : { kind, name }
}

/** Propagates OpenTelemetry's context, like the context manager of its Node SDK. */
class AsyncContextManager {
  readonly #storage = new AsyncLocalStorage<Context>()

  constructor(readonly root: Context) {}

  active(): Context {
    return this.#storage.getStore() ?? this.root
  }

  with<R>(
    context: Context,
    body: (...args: unknown[]) => R,
    self?: unknown,
    ...args: unknown[]
  ): R {
    return this.#storage.run(context, () => body.apply(self, args))
  }

  /** Binds functions only. Listeners of an emitter run in the context of `emit`. */
  bind<T>(context: Context, target: T): T {
    if (typeof target !== 'function') return target
    const inContext = (self: unknown, args: unknown[]): unknown =>
      this.with(context, target as unknown as (...args: unknown[]) => unknown, self, ...args)
    return function bound(this: unknown, ...args: unknown[]) {
      return inContext(this, args)
    } as T
  }

  enable(): this {
    return this
  }

  disable(): this {
    this.#storage.disable()
    return this
  }
}

/**
 * Labels steps with the agents, tools, workflows and nodes of Google's ADK in which they start.
 * Agents need no changes. Returns an undo function.
 *
 * ADK starts an OpenTelemetry span around each agent and tool, including streams and parallel
 * agents, whereas its plugins only run before and after. This listens to those spans. It sends
 * nothing, draws no values and adds no promises, so tapes do not depend on it. If the program has
 * its own telemetry, set that up first.
 */
export const nameSteps = oncePerProgram(() => {
  requireVersion({ package: '@google/adk', from: '2.0', to: '2' })
  // The copy that ADK itself uses, because another copy would not see its spans and contexts.
  const api = outsideRuns(() => createRequire(findAdk())('@opentelemetry/api') as OpenTelemetry)
  // No-op if the program has set its own, which works as well.
  api.context.setGlobalContextManager(new AsyncContextManager(api.ROOT_CONTEXT))
  const provider = api.trace.getTracerProvider()
  const before = provider.getDelegate()
  const scopes: SpanScopes = new SpanScopes(api, () =>
    provider.getDelegate() === scopes ? before : provider.getDelegate(),
  )
  provider.setDelegate(scopes)
  const unask = scopesFrom(() => scopes.current())
  return () => {
    unask()
    if (provider.getDelegate() === scopes) provider.setDelegate(before)
  }
})

/** The used part of `@opentelemetry/api`. ADK depends on it; Retake does not. */
interface OpenTelemetry {
  readonly ROOT_CONTEXT: Context
  readonly context: {
    active(): Context
    with<R>(context: Context, body: () => R): R
    /** Returns false if one is already set. */
    setGlobalContextManager(manager: AsyncContextManager): boolean
  }
  readonly trace: {
    getTracerProvider(): ProxyProvider
    getSpan(context: Context): Span | undefined
    setSpan(context: Context, span: Span): Context
  }
}

type Context = object
type Span = object

interface Tracer {
  startSpan(name: string, options?: object, context?: Context): Span
  startActiveSpan(name: string, ...rest: unknown[]): unknown
}

interface TracerProvider {
  getTracer(name: string, ...rest: unknown[]): Tracer
}

/** The provider of tracers until the real one is known. */
interface ProxyProvider extends TracerProvider {
  getDelegate(): TracerProvider
  setDelegate(provider: TracerProvider): void
}

/** The ADK that the program itself would load, or else the one next to Retake. */
function findAdk(): string {
  for (const start of [process.argv[1], join(process.cwd(), 'program.js')]) {
    const found = start && attempt(() => createRequire(start).resolve('@google/adk'))
    if (found) return found
  }
  try {
    return createRequire(import.meta.url).resolve('@google/adk')
  } catch (cause) {
    throw cliErrors.FRAMEWORK_MISSING('@google/adk', 'retake/google-adk', cause)
  }
}
