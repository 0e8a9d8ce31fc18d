import path from 'node:path'
import { lockNativeWays } from '../enforcement/files/native-ways.js'
import { installOnce } from '../enforcement/install.js'
import { fileDenial, type FileDenialCode } from './file-denials.js'
import { FileRoots } from './file-roots.js'
import type { FileScope } from './scopes.js'
import { mayHaveNameOutside } from './hard-links.js'
import { PathInspector } from './path-inspector.js'
import { climbs, forbiddenForm, isDevicePath } from './path-inspector.js'
import { resolvePath } from './resolve-path.js'
import type { FileAccess, Scopes } from './scopes.js'

/**
 * A compiled file scope. `check` follows every link and compares where the path
 * really leads: it is the lock, and the boundary asks it. `inspect` looks at arguments before
 * a tool starts: a courtesy that stays silent about everything that may be ordinary text.
 */
export function fileBounds(policy: string, scope: FileScope): NonNullable<Scopes['files']> {
  installOnce(lockNativeWays)
  const read = scope.read && new FileRoots(scope.read)
  const isSame = JSON.stringify(scope.read) === JSON.stringify(scope.write)
  const write = isSame ? read : scope.write && new FileRoots(scope.write)
  const rootsFor = (access: FileAccess): FileRoots | undefined =>
    access === 'read' ? read : access === 'write' ? write : (read ?? write)
  // Where everything may be read or everything written, an argument alone tells nothing.
  const inspector = read && write && new PathInspector(read, write)
  return {
    check(access, given) {
      const roots = rootsFor(access)
      if (roots === undefined) return undefined
      const code = refusalOf(access, given, roots, access === 'read' ? write : read)
      return code && fileDenial({ code, access, path: given, policy, roots: roots.names })
    },
    inspect(text, at) {
      const code = inspector?.inspect(text)
      if (code === undefined || read === undefined) return undefined
      return fileDenial({ code, access: 'read', path: text, at, policy, roots: read.names })
    },
  }
}

/** Why a path may not be touched in this way; undefined when it may. */
export function refusalOf(
  access: FileAccess,
  given: string,
  roots: FileRoots,
  others: FileRoots | undefined,
): FileDenialCode | undefined {
  if (access === 'enter') return 'PATH_CHDIR'
  if (access === 'descriptor') return 'PATH_DESCRIPTOR'
  if (access === 'unseen') return 'PATH_UNSEEN'
  if (access === 'changed') return 'PATH_CHANGED'
  const notAllowed = access === 'read' ? 'READ_NOT_ALLOWED' : 'WRITE_NOT_ALLOWED'
  if (roots.isEmpty) return notAllowed
  const form = forbiddenForm(given)
  if (form !== undefined) return form
  const named = path.resolve(given)
  // By name: `/proc/self/cwd` would lead back inside, and somewhere else in another process.
  if (isDevicePath(named) && !roots.name(named)) return 'PATH_DEVICE'
  const location = resolvePath(given)
  if (location === undefined) return 'PATH_SYMLINK_LOOP'
  const { real, stats, links } = location
  if (roots.contains(real)) {
    if (stats === undefined) return undefined
    if ((stats.isBlockDevice() || stats.isCharacterDevice()) && !isDevicePath(real))
      return 'PATH_DEVICE'
    return mayHaveNameOutside(stats, roots.folders) ? 'PATH_HARD_LINK' : undefined
  }
  if (links > 0 && roots.name(named)) return 'PATH_SYMLINK_ESCAPE'
  if (climbs(given)) return 'PATH_TRAVERSAL'
  if (others?.contains(real) === true) return notAllowed
  return isDevicePath(real) ? 'PATH_DEVICE' : 'PATH_OUTSIDE_ROOT'
}
