import { natives } from '../../natives.js'
import { ignoresOutsideLogs, mayWriteLogs } from '../shared-logs.js'
import type { Session } from '../../sessions/session.js'
import type { CheckedFunction } from '../../hook/boundary-check.js'
import { wasOpenedIn } from './file-call.js'
import type { FileFunction } from './file-natives.js'
import type { FileWork } from './file-work.js'

const WRITES = new Set(['fdatasync', 'fsync', 'write', 'writev'])

/**
 * True if a function run writes to a descriptor that it did not open, such as the log file of a
 * server. A logger collects the lines of all runs in one buffer, so its writes belong to none of
 * them.
 */
export const isSharedDescriptor = (session: Session, name: string, fd: unknown): boolean =>
  WRITES.has(name) &&
  typeof fd === 'number' &&
  ignoresOutsideLogs(session) &&
  !wasOpenedIn(session, fd)

/**
 * Writes without recording. A run that may not change the disk only gets the result of a successful
 * write.
 */
export function writeShared(
  session: Session,
  { name, style }: CheckedFunction,
  args: unknown[],
  native: FileFunction,
  plan: (args: unknown[]) => FileWork,
): unknown {
  const isOutput = args[0] === 1 || args[0] === 2
  if (isOutput || mayWriteLogs(session)) return native(...args)
  const last = args.findLastIndex((arg) => typeof arg === 'function')
  const work = plan(last < 0 ? args : args.slice(0, last))
  const value = name.startsWith('write') ? (work.call().input.body?.byteLength ?? 0) : undefined
  if (style === 'sync') return value
  natives.setImmediate(args[last] as (...answer: unknown[]) => void, null, value, work.passed)
  return undefined
}
