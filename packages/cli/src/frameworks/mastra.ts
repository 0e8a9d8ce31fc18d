/** `retake/mastra`: names the steps of Mastra's agents and workflows. */
import { within } from '@retake/engine'
import type { FrameworkScope } from '@retake/tape'
import { requireVersion, wrapCalls } from './adapter.js'

const requireMastra = (): void => requireVersion({ package: '@mastra/core', from: '1.0', to: '1' })

export interface MastraAgent {
  readonly id: string
  readonly name?: string
}

const CALLS = ['generate', 'stream', 'network', 'resumeGenerate', 'resumeStream', 'resumeNetwork']

/**
 * Labels the steps of an agent with a name (default: its own). Changes the agent itself and returns
 * it: `const helper = nameAgent(new Agent({ … }))`.
 */
export function nameAgent<A extends MastraAgent>(agent: A, name = agent.name ?? agent.id): A {
  requireMastra()
  wrapCalls(agent, CALLS, (call) => within({ kind: 'agent', name }, call))
  return agent
}

interface SpanOptions {
  readonly type: string
  readonly name: string
  readonly entityId?: string
  readonly entityName?: string
  /** Parts of Mastra's own machinery, such as the loop of an agent, are internal. */
  readonly tracingPolicy?: { readonly internal?: number }
  readonly parent?: QuietSpan
}

/**
 * A Mastra span that stores and exports nothing, and only names the steps inside of it. Mastra sees
 * it as an invalid span.
 */
class QuietSpan {
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
    return this.#scopes().reduceRight<() => T>((inner, scope) => () => within(scope, inner), body)()
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

  /** Ignores spans of agents, which `nameAgent` names. */
  #scopes(): FrameworkScope[] {
    if (this.isInternal) return []
    if (this.type === 'tool_call' || this.type === 'mcp_tool_call') return [this.#scope('tool')]
    if (this.type !== 'workflow_step') return []
    const workflow = this.findParent('workflow_run')
    return [...(workflow === undefined ? [] : [workflow.#scope('workflow')]), this.#scope('node')]
  }

  #scope(kind: FrameworkScope['kind']): FrameworkScope {
    // Shortens `workflow step: 'write'` to `write`.
    const [, quoted = this.name] = /'(.*)'/.exec(this.name) ?? []
    return { kind, name: this.entityName ?? this.entityId ?? quoted }
  }
}

/** Mastra's observability without exporters: spans exist, but are not stored. */
function quietObservability(): object {
  const instance = {
    ...NOTHING_TO_CLOSE,
    getConfig: () => ({ name: 'retake', serviceName: 'retake' }),
    getExporters: () => [],
    getSpanOutputProcessors: () => [],
    getLogger: () => undefined,
    getBridge: () => undefined,
    startSpan: (options: SpanOptions) => new QuietSpan(options, instance),
    rebuildSpan: (options: SpanOptions) => new QuietSpan(options, instance),
    __setLogger: () => {},
  }
  return {
    ...NOTHING_TO_CLOSE,
    setMastraContext: () => {},
    setLogger: () => {},
    getSelectedInstance: () => instance,
    getDefaultInstance: () => instance,
    getInstance: () => instance,
    hasInstance: () => true,
    listInstances: () => new Map([['retake', instance]]),
    registerInstance: () => {},
    unregisterInstance: () => false,
    setConfigSelector: () => {},
    clear: () => {},
  }
}

const NOTHING_TO_CLOSE = {
  flush: () => Promise.resolve(),
  shutdown: () => Promise.resolve(),
}

export interface MastraConfig {
  readonly agents?: Readonly<Record<string, MastraAgent>>
  readonly observability?: unknown
  /** Preserves the type of `false`. */
  readonly logger?: false | object
}

/**
 * Labels steps with the agent, tool, workflow and workflow step of Mastra: `new Mastra(nameConfig({
 * agents, workflows }))`. For agents that are not registered there, such as sub-agents, use
 * `nameAgent`.
 *
 * Tools and workflows are observed through Mastra's observability. If the program has its own, it
 * stays unchanged, and only agents are labelled.
 */
export function nameConfig<C extends MastraConfig>(config: C): C {
  requireMastra()
  for (const agent of Object.values(config.agents ?? {})) nameAgent(agent)
  return config.observability === undefined
    ? { ...config, observability: quietObservability() }
    : config
}
