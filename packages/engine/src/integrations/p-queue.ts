import { type Undo, undoAll } from '../boundaries/patching/patch.js'
import { whenLoaded } from '../boundaries/patching/when-loaded.js'
import { makers } from '../boundaries/shared/shared-clients.js'
import { patchQueue } from '../boundaries/shared/shared-queues.js'
import { currentSession } from '../kernel/scope.js'
import type { Integration } from './integration.js'

/**
 * Queues that several runs share; LangChain uses this one. It may be an ES module, so its class is
 * found when a queue is created, as an emitter of the package eventemitter3.
 */
export const pQueue: Integration = {
  package: 'p-queue',
  versions: '>=6',
  install() {
    const undos: Undo[] = []
    const patched = new Map<object, Undo>()
    const watchEmitters = (exports: unknown): void => {
      const prototype = (exports as { readonly prototype?: object } | undefined)?.prototype
      if (prototype === undefined || Object.hasOwn(prototype, '_events')) return
      undos.push(
        watchAssignments(prototype, '_events', (emitter) => {
          if (!classNames(emitter).includes('PQueue')) return
          patchQueue(emitter, ADD, patched)
          const session = currentSession()
          if (session !== undefined) makers.set(emitter, session)
        }),
      )
    }
    return undoAll([
      () => undoAll([...undos, ...patched.values()])(),
      whenLoaded(/(^|[\\/])eventemitter3([\\/]index\.js)?$/, watchEmitters),
    ])
  },
}

const ADD = {
  library: 'p-queue',
  method: 'add',
  // Newer versions call a task with the signal from the options that follow it.
  taskArguments: ([options]: readonly unknown[]) => [
    { signal: (options as { readonly signal?: unknown } | undefined)?.signal },
  ],
}

function classNames(instance: object): string[] {
  const prototype = Object.getPrototypeOf(instance) as { readonly constructor: Function } | null
  return prototype === null ? [] : [prototype.constructor.name, ...classNames(prototype)]
}

/** Calls `look` with each object that gets the property as its own. */
function watchAssignments(prototype: object, name: string, look: (object: object) => void): Undo {
  Object.defineProperty(prototype, name, {
    configurable: true,
    get: () => undefined,
    set(this: object, value: unknown) {
      const own = { value, writable: true, enumerable: true, configurable: true }
      Object.defineProperty(this, name, own)
      look(this)
    },
  })
  return () => void Reflect.deleteProperty(prototype, name)
}
