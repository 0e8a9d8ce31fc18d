import { attempt } from '@retake/tape/format'
import { createHmac } from 'node:crypto'
import os from 'node:os'
import path from 'node:path'
import { natives } from '../kernel/natives.js'
import { disk } from '../overlay/disk.js'
import { outsideRuns } from '../kernel/scope.js'

/**
 * The folder for Retake's state about this machine and user, outside every project, so that nothing
 * that arrives with a repository or a tape can be in it.
 */
export function stateFolder(): string {
  const named = natives.env['XDG_STATE_HOME'] ?? ''
  // The XDG specification requires programs to ignore relative paths.
  if (path.isAbsolute(named)) return path.join(named, 'retake')
  // A run must not depend on where this machine has its state, so the read is not recorded.
  return outsideRuns(() => path.join(os.homedir(), '.local', 'state', 'retake'))
}

const KEY_BYTES = 32
/** Keyed by folder, because a test may use a different one. */
const keys = new Map<string, Buffer | undefined>()

/**
 * A proof, valid on this machine only, that a variable (or a file, without a name) still has its
 * current content. Safe on a tape: without the key, which never leaves the user's state folder, it
 * cannot be used to test guesses. Undefined without a key, for example in a read-only home
 * directory.
 */
export function proofOf(
  name: string,
  value: string | Uint8Array,
  mayCreate: boolean,
): string | undefined {
  const key = machineKey(mayCreate)
  return key && createHmac('sha256', key).update(`${name}\0`).update(value).digest('base64url')
}

/** Recognises a value that a tape hides, on this machine only. */
export const fingerprintOf = (value: string, mayCreate: boolean): string | undefined =>
  proofOf('a hidden value', value, mayCreate)?.slice(0, 16)

/** Names of proofs about other things than variables; a variable's name contains no space. */
export const INPUT_PROOF = 'input of a run'
export const START_PROOF = 'start of a run'

function machineKey(mayCreate: boolean): Buffer | undefined {
  const folder = stateFolder()
  const known = keys.get(folder)
  if (known !== undefined || (keys.has(folder) && !mayCreate)) return known
  const file = path.join(folder, 'machine-key')
  const key = outsideRuns(() => readKey(file) ?? (mayCreate ? createKey(file) : undefined))
  keys.set(folder, key)
  return key
}

function readKey(file: string): Buffer | undefined {
  const key = attempt(() => disk.readFileSync(file))
  return key?.length === KEY_BYTES ? key : undefined
}

function createKey(file: string): Buffer | undefined {
  // If the folder is read-only, recording continues without proofs.
  attempt(() => createPrivateFile(file, natives.randomBytes(KEY_BYTES)))
  return readKey(file)
}

/**
 * Creates a file that only this user can read, unless it exists. It is linked into place, so that
 * two processes that create it concurrently read the same content.
 */
export function createPrivateFile(file: string, content: string | Uint8Array): void {
  const partial = `${file}.${natives.randomBytes(6).toString('hex')}`
  disk.mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 })
  try {
    disk.writeFileSync(partial, content, { mode: 0o600, flag: 'wx' })
    disk.linkSync(partial, file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    disk.rmSync(partial, { force: true })
  }
}
