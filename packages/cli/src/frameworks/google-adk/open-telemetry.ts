import { createRequire } from 'node:module'

/** What is needed of `@opentelemetry/api`. ADK brings it along; Retake does not depend on it. */
export interface OpenTelemetry {
  readonly ROOT_CONTEXT: Context
  readonly context: {
    active(): Context
    with<R>(
      context: Context,
      body: (...args: unknown[]) => R,
      self?: unknown,
      ...args: unknown[]
    ): R
    /** False when there is one already. */
    setGlobalContextManager(manager: ContextManager): boolean
  }
  readonly trace: {
    getTracerProvider(): ProxyProvider
    getSpan(context: Context): Span | undefined
    setSpan(context: Context, span: Span): Context
  }
}

export type Context = object
export type Span = object

export interface Tracer {
  startSpan(name: string, options?: object, context?: Context): Span
  startActiveSpan(name: string, ...rest: unknown[]): unknown
}

export interface TracerProvider {
  getTracer(name: string, ...rest: unknown[]): Tracer
}

/** The provider that tracers are handed out by before the real one is known. */
export interface ProxyProvider extends TracerProvider {
  getDelegate(): TracerProvider
  setDelegate(provider: TracerProvider): void
}

export interface ContextManager {
  active(): Context
  with<R>(context: Context, body: (...args: unknown[]) => R, self?: unknown, ...args: unknown[]): R
  bind<T>(context: Context, target: T): T
  enable(): this
  disable(): this
}

/** The copy that ADK itself uses: spans and contexts of another one would not meet its own. */
export function openTelemetryOfAdk(): OpenTelemetry {
  const adk = createRequire(import.meta.url).resolve('@google/adk')
  return createRequire(adk)('@opentelemetry/api') as OpenTelemetry
}
