import { declareFileCallers } from '../boundaries/files/file-wrapper.js'
import type { Integration } from './integration.js'

/** Jest and other packages call `fs` through it. */
export const gracefulFs: Integration = {
  package: 'graceful-fs',
  versions: '>=4',
  install: () => declareFileCallers({ forwarders: ['graceful-fs'] }),
}
