import { isBelow } from './file-roots.js'
import type { Confinement } from './bubblewrap.js'

/** Flags of Node's permission model for the files of a confinement. Missing lists allow everything. */
export function permissionFlags({ read, write, code = [] }: Confinement): string[] {
  const flag = process.allowedNodeEnvironmentFlags.has('--permission')
    ? '--permission'
    : '--experimental-permission'
  // Node aborts if a folder is listed twice, or again below another one.
  const allow = (name: string, all: readonly string[] | undefined): string[] =>
    [...new Set(all ?? ['*'])]
      .filter((each, _, set) => !set.some((other) => other !== each && isBelow(each, other)))
      .map((each) => `--allow-fs-${name}=${each}`)
  return [
    flag,
    '--disable-warning=ExperimentalWarning',
    ...allow('read', read && [...read, ...(write ?? []), ...code]),
    ...allow('write', write ?? read),
  ]
}
