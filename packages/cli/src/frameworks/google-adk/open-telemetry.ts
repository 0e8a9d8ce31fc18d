import { createRequire } from 'node:module'
import { join } from 'node:path'
import { outsideRuns } from '@retake/engine'
import { frameworkMissing } from '../../errors/frameworks.js'

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
  return outsideRuns(() => createRequire(findAdk())('@opentelemetry/api') as OpenTelemetry)
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
    throw frameworkMissing('@google/adk', 'retake/google-adk', cause)
  }
}
