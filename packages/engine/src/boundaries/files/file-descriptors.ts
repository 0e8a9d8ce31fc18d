import type { Session } from '../../sessions/session.js'

/** What the open descriptors of each run stand for, to show a path instead of a number. */
const opened = new WeakMap<Session, Map<number, string>>()

export function rememberDescriptor(session: Session, fd: number, path: string): void {
  let paths = opened.get(session)
  if (paths === undefined) opened.set(session, (paths = new Map()))
  paths.set(fd, path)
}

export function forgetDescriptor(session: Session, fd: number): void {
  opened.get(session)?.delete(fd)
}

/** The path it was opened with in this run, else `fd 7`. */
export function nameDescriptor(session: Session, fd: number): string {
  return opened.get(session)?.get(fd) ?? `fd ${fd}`
}

/**
 * 1 or 2 when a write to `file` reaches the process's own output, by number or
 * by the name of its device: that is the output boundary's business.
 */
export function outputDescriptor(session: Session, file: unknown): 1 | 2 | undefined {
  if (file === 1 || file === 2) return file
  const path = typeof file === 'number' ? opened.get(session)?.get(file) : file
  return path === '/dev/stdout' ? 1 : path === '/dev/stderr' ? 2 : undefined
}
