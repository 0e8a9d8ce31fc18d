import { declareTelemetry } from '../boundaries/patching/telemetry.js'
import type { Integration } from './integration.js'

export const sentry: Integration = {
  package: '@sentry/node',
  versions: '>=8',
  install: () => declareTelemetry({ mark: '__SENTRY__', packages: ['@sentry'] }),
}
