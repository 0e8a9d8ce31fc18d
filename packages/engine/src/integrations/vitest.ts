import { declareFileCallers } from '../boundaries/files/file-wrapper.js'
import type { Integration } from './integration.js'

/** Version 3 loads the modules of a test file itself; later ones leave that to Node. */
export const vitest: Integration = {
  package: 'vitest',
  versions: '>=3',
  install: () => declareFileCallers({ loaders: ['vite-node'] }),
}
