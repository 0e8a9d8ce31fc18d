import { clipText } from '@retake/tape/format'
import type { Denial } from '../guard-error.js'
import type { FileAccess } from './scopes.js'

/** Why a path is refused. Each has a page in docs/errors. */
const REASONS = {
  PATH_OUTSIDE_ROOT: 'It is outside of the folders that the policy allows.',
  PATH_TRAVERSAL: 'It climbs out of the folders that the policy allows.',
  PATH_SYMLINK_ESCAPE: 'A link on the way leads out of the folders that the policy allows.',
  PATH_SYMLINK_LOOP: 'Its links go in a circle, so nobody can say where it leads.',
  PATH_CHANGED: 'It was exchanged for something else while it was being opened.',
  PATH_NULL_BYTE: 'It holds a null byte, where the system would stop reading it.',
  PATH_DEVICE: 'Devices and the insides of processes are no files.',
  PATH_UNC: 'It names another machine.',
  PATH_STREAM: 'It names a hidden stream of a file.',
  PATH_TRAILING: 'Without the dots or spaces that Windows drops it leads out of the folders.',
  PATH_CHDIR: 'Every relative path would mean something else from then on.',
  PATH_UNSEEN: 'What it touches could not be checked.',
  READ_NOT_ALLOWED: 'The policy does not let it be read.',
  WRITE_NOT_ALLOWED: 'The policy does not let it be written.',
} as const

export type FileDenialCode = keyof typeof REASONS

const VERBS: Readonly<Record<FileAccess, string>> = {
  look: 'look at',
  read: 'to read',
  write: 'to write',
  enter: 'to change the working directory to',
  unseen: 'to use',
  changed: 'to open',
}

export interface Refused {
  readonly code: FileDenialCode
  readonly access: FileAccess
  readonly path: string
  /** The argument that named it, if it was found in one. */
  readonly at?: string
  /** The policy. */
  readonly policy: string
  /** Folders that may be used in this way. */
  readonly roots: readonly string[]
}

export function fileDenial({ code, access, path, at, policy, roots }: Refused): Denial {
  const shown = JSON.stringify(clipText(path, 200))
  const what =
    at === undefined
      ? `The tool tried ${VERBS[access]} ${shown}.`
      : `The argument${at === '' ? '' : ` "${at}"`} holds the path ${shown}.`
  return {
    code,
    rule: `${policy}/files`,
    what,
    why: REASONS[code],
    allowed: allowedBy(access, roots),
  }
}

function allowedBy(access: FileAccess, roots: readonly string[]): string {
  if (access === 'enter') return 'Use absolute paths, or pass the folder on.'
  if (access === 'unseen') return 'Use node:fs.'
  const done = access === 'write' ? 'written' : access === 'read' ? 'read' : 'used'
  return roots.length === 0
    ? `Nothing may be ${done}: give the policy a folder in files.${access === 'write' ? 'write' : 'read'}.`
    : `Files below ${roots.join(', ')} may be ${done}.`
}
