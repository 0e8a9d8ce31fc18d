/** `retake/google-adk`: names for the steps of Google's Agent Development Kit. */
import { outsideRuns, scopesFrom } from '@retake/engine'
import { onceAProgram, requireVersion } from './adapter.js'
import { AsyncLocalStorage } from 'node:async_hooks'
import type { FrameworkScope } from '@retake/tape'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { cliErrors } from '../errors.js'

const KINDS: Readonly<Record<string, FrameworkScope['kind']>> = {
  invoke_workflow: 'workflow',
  execute_node: 'node',
  invoke_agent: 'agent',
  execute_tool: 'tool',
}

/**
 * Wraps the tracers of a program and tracks how spans are nested. The spans are those of the
 * wrapped tracers, if there are any.
 */
class SpanScopes implements TracerProvider {
  readonly #known = new WeakMap<
    Span,
    { readonly scope: FrameworkScope | undefined; readonly parent: Span | undefined }
  >()

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
      const known = this.#known.get(span)
      if (known?.scope !== undefined && !isShellOf(known.scope, scopes[0]))
        scopes.unshift(known.scope)
      span = known?.parent
    }
    return scopes
  }
}

/** An agent or workflow that runs as a node has a span of each kind, under one name. */
const isShellOf = (outer: FrameworkScope, inner: FrameworkScope | undefined): boolean =>
  outer.kind === 'node' &&
  outer.name === inner?.name &&
  (inner.kind === 'agent' || inner.kind === 'workflow')

function scopeOf(spanName: string): FrameworkScope | undefined {
  const at = spanName.indexOf(' ')
  const kind = KINDS[spanName.slice(0, Math.max(0, at))]
  const name = spanName.slice(at + 1)
  return kind === undefined || name === '(merged)' ? undefined : { kind, name }
}

/** Propagates OpenTelemetry's context to everything started in it, like the context manager of its Node SDK. */
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

  /** Functions only: listeners of an emitter run where they are called. */
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
 * Labels steps with the agents, tools, workflows and nodes of Google's ADK that they start in. The
 * agents do not have to change. Returns its undo.
 *
 * ADK starts an OpenTelemetry span around each agent and tool, streams and
 * parallel agents included; its plugins only run before and after. This
 * listens there. It sends nothing, draws no value and adds no promise, so a tape
 * does not depend on it. A program can have its own telemetry: set that
 * up first, then call this.
 */
export const nameSteps = onceAProgram(() => {
  requireVersion({ package: '@google/adk', from: '2.0', to: '2' })
  // The copy that ADK itself uses: spans and contexts of another one would not meet its own.
  const api = outsideRuns(() => createRequire(findAdk())('@opentelemetry/api') as OpenTelemetry)
  // False when the program has set one: then that one is as good.
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
    /** False when there is one already. */
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

/** The provider that tracers are handed out by before the real one is known. */
interface ProxyProvider extends TracerProvider {
  getDelegate(): TracerProvider
  setDelegate(provider: TracerProvider): void
}

/** The ADK that the program itself would load, else the one next to Retake. */
function findAdk(): string {
  for (const start of [process.argv[1], join(process.cwd(), 'program.js')]) {
    try {
      if (start !== undefined) return createRequire(start).resolve('@google/adk')
    } catch {
      // Not from there.
    }
  }
  try {
    return createRequire(import.meta.url).resolve('@google/adk')
  } catch (cause) {
    throw cliErrors.FRAMEWORK_MISSING('@google/adk', 'retake/google-adk', cause)
  }
}
