export {
  type BlameConfig,
  type ModelPrice,
  type RetakeConfig,
  defineConfig,
  givenMatchers,
  givenPatterns,
  project,
  recordedMatchers,
  useProject,
} from './define-config.js'
export { findConfig } from './find-config.js'
export { importDefault, loadConfig } from './load-config.js'
