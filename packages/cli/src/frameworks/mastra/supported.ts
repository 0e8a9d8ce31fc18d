import { requireVersion } from '../supported-version.js'

/** The versions this adapter was written for. */
export const requireMastra = (): void =>
  requireVersion({ package: '@mastra/core', from: '1.0', to: '1' })
