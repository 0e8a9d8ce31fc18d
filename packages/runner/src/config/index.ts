export type { BlameConfig, ModelPrice, RetakeConfig } from './check-config.js'
export {
  defineConfig,
  givenMatchers,
  givenPatterns,
  project,
  recordedMatchers,
  useProject,
} from './define-config.js'
export { findConfig } from './find-config.js'
