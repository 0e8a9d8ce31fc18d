import path from 'node:path'
import { containsSecret, outsideRuns, type SpawnOptions } from '@retake/engine/hook'
import type { CallBounds } from '../bounds/call-bounds.js'
import type { FileBounds } from '../bounds/file-bounds.js'
import { isBelow, type FileRoots } from '../bounds/file-roots.js'
import { ownLocations } from '../bounds/own-files.js'
import type { Scopes } from '../bounds/scopes.js'
import {
  bubblewrapArguments,
  closeSeccompFilter,
  type Confinement,
  findBubblewrap,
  openSeccompFilter,
} from './bubblewrap.js'

/** The intersection of all scopes, for a process that starts in `cwd`. */
export function confinementOf(scopes: readonly Scopes[], cwd: string): Confinement {
  const common = (roots: (files: FileBounds) => FileRoots | undefined) =>
    scopes
      .map(({ files }) => files && roots(files)?.folders)
      .reduce((all, each) => (all && each ? intersection(all, each) : (all ?? each)), undefined)
  return {
    read: common(({ roots }) => roots.read),
    write: common(({ roots }) => roots.write),
    hidden: ownLocations(),
    network: scopes.some(({ network }) => network !== undefined) ? 'closed' : 'open',
    cwd,
  }
}

/** The inner folder of each pair in which one contains the other. */
const intersection = (some: readonly string[], others: readonly string[]): readonly string[] =>
  some.flatMap((a) => others.flatMap((b) => (isBelow(a, b) ? [a] : isBelow(b, a) ? [b] : [])))

/** Options of a process as Node passes them to the system. */
export interface NativeSpawnOptions extends SpawnOptions {
  readonly stdio?: readonly object[]
}

/**
 * Starts a process of guarded calls in the sandbox, if there is one and the calls have scopes.
 * `CallBounds.process` has checked it. A program killed by a signal reports 128 plus its number.
 */
export function spawnConfined<T>(
  bounds: readonly CallBounds[],
  options: NativeSpawnOptions,
  spawn: (options: NativeSpawnOptions) => T,
): T {
  const scopes = bounds.flatMap((each) => each.scopes)
  const sandbox = findBubblewrap()
  const isConfined = scopes.some(
    ({ files, network, shell, needsApproval }) => files ?? network ?? shell ?? needsApproval,
  )
  if ('why' in sandbox || !isConfined) return spawn(options)
  const { stdio = [], args = [], cwd, envPairs } = options
  const confinement = confinementOf(scopes, path.resolve(cwd ?? '.'))
  const confined = outsideRuns(() => bubblewrapArguments(confinement))
  const filter = openSeccompFilter(confinement)
  try {
    return spawn({
      ...options,
      file: sandbox.file,
      args: [
        'bwrap',
        ...confined,
        ...(filter === undefined ? [] : ['--seccomp', String(stdio.length)]),
        '--',
        options.file,
        ...args.slice(1),
      ],
      cwd: '/',
      ...(envPairs && { envPairs: envPairs.filter(isHarmless) }),
      stdio: filter === undefined ? stdio : [...stdio, { type: 'fd', fd: filter }],
    })
  } finally {
    closeSeccompFilter(filter)
  }
}

/** Programs do not get secrets of this process. */
function isHarmless(pair: string): boolean {
  const at = pair.indexOf('=', 1)
  return !containsSecret(pair.slice(0, at), pair.slice(at + 1))
}
