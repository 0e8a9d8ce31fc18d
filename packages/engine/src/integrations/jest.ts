import { declareFileCallers } from '../boundaries/files/file-wrapper.js'
import type { Integration } from './integration.js'

/** Loads the modules of a test file itself. */
export const jest: Integration = {
  package: 'jest',
  versions: '>=29',
  install: () =>
    declareFileCallers({ readers: ['@jest/transform', 'jest-resolve'], loaders: ['jest-runtime'] }),
}
