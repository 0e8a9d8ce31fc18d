import { disk } from './disk.js'

const { O_APPEND, O_CREAT, O_EXCL, O_RDONLY, O_RDWR, O_SYNC, O_TRUNC, O_WRONLY } = disk.constants

/** The flags of `fs.open` as a number. Flags that Node refuses never get here. */
export function flagBits(flags: unknown): number {
  if (typeof flags === 'number') return flags
  const letters = typeof flags === 'string' ? flags : 'r'
  const has = (letter: string): boolean => letters.includes(letter)
  const access = has('+') ? O_RDWR : has('r') ? O_RDONLY : O_WRONLY
  const kind = has('w') ? O_CREAT | O_TRUNC : has('a') ? O_CREAT | O_APPEND : 0
  return access | kind | (has('x') ? O_EXCL : 0) | (has('s') ? O_SYNC : 0)
}

/** True if opening a file with these flags may create it, truncate it, or allow writing. */
export const opensForWriting = (bits: number): boolean =>
  (bits & (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC)) !== 0

/** True if opening only succeeds for a file that does not exist yet. */
export const opensNew = (bits: number): boolean => (bits & O_CREAT) !== 0 && (bits & O_EXCL) !== 0

export const opensEmpty = (bits: number): boolean => (bits & O_TRUNC) !== 0

export const opensToAppend = (bits: number): boolean => (bits & O_APPEND) !== 0

/**
 * Flags to reopen a file that was already open, which must be neither truncated nor created again,
 * except when appending. A file that was opened for writing is also opened for reading, to reach
 * its position.
 */
export function reopeningBits(bits: number): number {
  if (opensToAppend(bits)) return bits & ~(O_TRUNC | O_EXCL)
  const rest = bits & ~(O_CREAT | O_EXCL | O_TRUNC)
  return (rest & O_WRONLY) === 0 ? rest : (rest & ~O_WRONLY) | O_RDWR
}

export const opensToRead = (bits: number): boolean => (bits & O_WRONLY) === 0
