import { declareTelemetry } from '../boundaries/patching/telemetry.js'
import type { Integration } from './integration.js'

/**
 * Spans of a whole process. A `SimpleSpanProcessor` exports each span in the run that ends it, so
 * the exporter that all others over HTTP use is named.
 */
export const opentelemetry: Integration = {
  package: '@opentelemetry/api',
  versions: '>=1',
  install: () =>
    declareTelemetry({
      mark: Symbol.for('opentelemetry.js.api.1'),
      packages: ['@opentelemetry'],
      exporter: 'otlp-exporter-base',
    }),
}
