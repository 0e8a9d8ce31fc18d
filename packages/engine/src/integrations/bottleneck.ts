import { type Undo, undoAll } from '../boundaries/patching/patch.js'
import { whenLoaded } from '../boundaries/patching/when-loaded.js'
import { patchQueue } from '../boundaries/shared/shared-queues.js'
import type { Integration } from './integration.js'

/** Limiters that several runs share. */
export const bottleneck: Integration = {
  package: 'bottleneck',
  versions: '>=2',
  install() {
    const patched = new Map<object, Undo>()
    return undoAll([
      () => undoAll([...patched.values()])(),
      whenLoaded(/(^|[\\/])bottleneck([\\/](lib[\\/]index|light)\.js)?$/, (exports) => {
        const { prototype } = exports as { readonly prototype?: object }
        if (prototype === undefined) return
        patchQueue(prototype, { library: 'bottleneck', method: 'schedule' }, patched)
      }),
    ])
  },
}
