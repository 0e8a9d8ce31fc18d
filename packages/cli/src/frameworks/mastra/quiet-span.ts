import { within } from '@retake/engine'
import type { Place } from '@retake/tape'

/** What Mastra says of a span it starts, as far as it is used. */
export interface SpanOptions {
  readonly type: string
  readonly name: string
  readonly entityId?: string
  readonly entityName?: string
  /** Parts of Mastra's own workings, such as the loop of an agent, are internal. */
  readonly tracingPolicy?: { readonly internal?: number }
  readonly parent?: QuietSpan
}

/**
 * A span of Mastra that keeps and exports nothing: it only names the steps made
 * in it. To Mastra it is a span that is not valid.
 */
export class QuietSpan {
  readonly id = ''
  readonly traceId = ''
  readonly type: string
  readonly name: string
  readonly entityId: string | undefined
  readonly entityName: string | undefined
  readonly tracingPolicy: SpanOptions['tracingPolicy']
  readonly parent: QuietSpan | undefined
  readonly startTime = new Date(0)
  readonly isEvent = false
  readonly isInternal: boolean
  readonly isValid = false
  readonly externalTraceId = undefined

  constructor(
    options: SpanOptions,
    readonly observabilityInstance: object,
    parent = options.parent,
  ) {
    this.type = options.type
    this.name = options.name
    this.entityId = options.entityId
    this.entityName = options.entityName
    this.tracingPolicy = options.tracingPolicy
    this.parent = parent
    this.isInternal = (options.tracingPolicy?.internal ?? 0) !== 0
  }

  get isRootSpan(): boolean {
    return this.parent === undefined
  }

  createChildSpan(options: SpanOptions): QuietSpan {
    return new QuietSpan(options, this.observabilityInstance, this)
  }

  createEventSpan(options: SpanOptions): QuietSpan {
    return this.createChildSpan(options)
  }

  executeInContext<T>(body: () => T): T {
    return this.#places().reduceRight<() => T>((inner, place) => () => within(place, inner), body)()
  }

  executeInContextSync<T>(body: () => T): T {
    return this.executeInContext(body)
  }

  findParent(type: string): QuietSpan | undefined {
    let span = this.parent
    while (span !== undefined && span.type !== type) span = span.parent
    return span
  }

  end(): void {}
  endTree(): void {}
  error(): void {}
  update(): void {}
  createTracker(): undefined {}
  exportSpan(): undefined {}
  getParentSpanId(): undefined {}

  /** Agents name themselves, see `nameAgent`: their spans are not entered. */
  #places(): Place[] {
    if (this.isInternal) return []
    if (this.type === 'tool_call' || this.type === 'mcp_tool_call') return [this.#place('tool')]
    if (this.type !== 'workflow_step') return []
    const workflow = this.findParent('workflow_run')
    return [...(workflow === undefined ? [] : [workflow.#place('workflow')]), this.#place('node')]
  }

  #place(kind: Place['kind']): Place {
    return { kind, name: this.entityName ?? this.entityId ?? quoted(this.name) }
  }
}

/** `workflow step: 'write'` is called `write`. */
const quoted = (name: string): string => /'(.*)'/.exec(name)?.[1] ?? name
