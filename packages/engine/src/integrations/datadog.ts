import { declareTelemetry } from '../boundaries/patching/telemetry.js'
import type { Integration } from './integration.js'

export const datadog: Integration = {
  package: 'dd-trace',
  versions: '>=5',
  install: () =>
    declareTelemetry({ mark: Symbol.for('dd-trace'), packages: ['@datadog', 'dd-trace'] }),
}
