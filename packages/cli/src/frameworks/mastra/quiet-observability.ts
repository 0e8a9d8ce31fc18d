import { QuietSpan } from './quiet-span.js'
import type { SpanOptions } from './quiet-span.js'

/** Mastra's observability without exporters: spans exist, nothing is kept of them. */
export function quietObservability(): object {
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
