import module from 'node:module'
import v8 from 'node:v8'
import type { FileAccess } from '../../../guard/bounds/scopes.js'
import { currentBounds } from '../../../scope.js'
import { dressLike, replace, undoAll } from '../../patch.js'
import type { Undo } from '../../patch.js'
import { AskedBounds } from './asked-bounds.js'

/**
 * Ways to files that are not in `node:fs`. They are asked about inside guarded calls and are
 * otherwise as they were. Native addons have ways of their own, which are not seen.
 */
export function patchOtherWays(): Undo {
  return undoAll([
    // Not even back to where it is: relative paths of everybody depend on it.
    before(process, 'chdir', ([folder]) => ask('enter', String(folder))),
    before(v8, 'writeHeapSnapshot', ([file = '.']) => ask('write', String(file))),
    ...(process.report
      ? [before(process.report, 'writeReport', ([file = '.']) => ask('write', String(file)))]
      : []),
    before(module, 'enableCompileCache', ([folder = '.']) => ask('write', String(folder))),
  ])
}

function ask(access: FileAccess, text: string): void {
  new AskedBounds(currentBounds()).ask(access, text)
}

function before(target: object, name: string, look: (args: unknown[]) => void): Undo {
  const native = (target as Record<string, unknown>)[name]
  if (typeof native !== 'function') return () => {}
  const wrapper = function (this: unknown, ...args: unknown[]): unknown {
    if (currentBounds().length > 0) look(args)
    return native.apply(this, args)
  }
  return replace(target, name, dressLike(wrapper, native))
}
