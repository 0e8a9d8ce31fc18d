import path from 'node:path'
import { decodeBody, isDelivery, type CallEvent, type Tape } from '@retake/tape/format'
import { openOwnTape, openTape } from '@retake/tape/node'
import { disk } from './disk.js'
import { flagBits, opensForWriting, opensToAppend } from './open-flags.js'

interface Write {
  readonly seq: number
  readonly filePath: string
  /** The bytes, if they were added at its end. */
  readonly appended?: Uint8Array
}

/**
 * Writes of a run and its parents to the disk, according to their tapes. The disk now has all of
 * them, but a branch continues from an earlier moment. Skips parents that are branches, whose
 * writes are in overlays.
 */
export class ParentWrites {
  #writes: readonly Write[] | undefined

  constructor(readonly tape: Tape) {}

  /** Paths written by events from `at` on. */
  from(at: number): ReadonlySet<string> {
    return new Set(this.#all().flatMap(({ seq, filePath }) => (seq >= at ? [filePath] : [])))
  }

  has(filePath: string): boolean {
    return this.#all().some((write) => write.filePath === filePath)
  }

  /** Content appended to a file, in order, before any other change; `isAll` if there was no other. */
  appendedTo(filePath: string): { readonly parts: readonly Uint8Array[]; readonly isAll: boolean } {
    const writes = this.#all().filter((write) => write.filePath === filePath)
    const other = writes.findIndex(({ appended }) => appended === undefined)
    const added = other < 0 ? writes : writes.slice(0, other)
    return { parts: added.map(({ appended = EMPTY }) => appended), isAll: other < 0 }
  }

  #all(): readonly Write[] {
    return (this.#writes ??= tapesOnDisk(this.tape).flatMap(({ tape, shared }) =>
      // After the branch point, a parent's events are later than all of the branch's.
      writesOf(tape).map((write) => (write.seq >= shared ? { ...write, seq: Infinity } : write)),
    ))
  }
}

const EMPTY = new Uint8Array(0)

interface TapeOnDisk {
  readonly tape: Tape
  /** Number of its events that the branch shares. */
  readonly shared: number
}

/** True if the writes of a run went to an overlay: forks, reruns, and runs that resume one. */
export function usesOverlay({ details, run, path: file }: Tape): boolean {
  if (details.branch === undefined || run.parent === undefined) return false
  if (details.branch.kind !== 'resume') return true
  return usesOverlay(openOwnTape(path.join(path.dirname(file), `${run.parent.run}.tape`)))
}

/** The tapes whose writes reached the disk, eldest first. */
function tapesOnDisk(tape: Tape, shared = Infinity): TapeOnDisk[] {
  const link = tape.run.parent
  if (link === undefined) return [{ tape, shared }]
  let own: TapeOnDisk[] = []
  try {
    if (!usesOverlay(tape)) own = [{ tape, shared }]
    const parent = openTape(path.join(path.dirname(tape.path), `${link.run}.tape`))
    return [...tapesOnDisk(parent, Math.min(shared, link.seq)), ...own]
  } catch {
    return own
  }
}

function writesOf(tape: Tape): Write[] {
  const calls = new Map<number, CallEvent>()
  const appending = new Set<string>()
  const writes: Write[] = []
  for (const event of tape.events(tape.ownFrom)) {
    if (event.type === 'call' && event.kind === 'file') calls.set(event.seq, event)
    const call = isDelivery(event) ? calls.get(event.op) : undefined
    if (call === undefined || event.type !== 'result') continue
    calls.delete(call.seq)
    if (event.error === undefined) writes.push(...writesOfCall(tape, call, appending))
  }
  return writes
}

const CONTENT = /\.(writeFile|appendFile|write|writev)(Sync)?$/
const OTHERS =
  /\.(copyFile|cp|rename|link|symlink|unlink|rm|rmdir|mkdir|truncate|ftruncate)(Sync)?$/

function writesOfCall(tape: Tape, call: CallEvent, appending: Set<string>): Write[] {
  const { name, seq, title = '' } = call
  if (/\.open(Sync)?$/.test(name)) return writesOfOpen(tape, call, appending)
  if (CONTENT.test(name)) {
    // Options and positions of a write come after its path.
    const [, file = title, options = ''] = /^(.*?)( \[.*\])?$/s.exec(title) ?? []
    const filePath = pathOf(tape, file)
    const isFile = name.includes('appendFile') || appending.has(filePath)
    const isAppended = isFile ? !/"flag":"(?!a)/.test(options) : /"flag":"a/.test(options)
    return [{ seq, filePath, ...(isAppended && { appended: tape.body(seq) }) }]
  }
  if (!OTHERS.test(name)) return []
  return title.split(' → ').map((part) => ({ seq, filePath: pathOf(tape, part) }))
}

function writesOfOpen(
  tape: Tape,
  { seq, title = '', as }: CallEvent,
  appending: Set<string>,
): Write[] {
  const filePath = pathOf(tape, title)
  const [flags] = as === undefined ? [] : (decodeBody(as, tape.body(seq)) as unknown[])
  const bits = flagBits(flags)
  appending.delete(filePath)
  if (!opensForWriting(bits)) return []
  if (!opensToAppend(bits)) return [{ seq, filePath }]
  appending.add(filePath)
  return [{ seq, filePath, appended: EMPTY }]
}

/** With links followed as they are today. */
function pathOf({ details }: Tape, name: string): string {
  const filePath = path.resolve(details.cwd ?? '.', name)
  for (const [start, rest] of [
    [filePath, ''],
    [path.dirname(filePath), path.basename(filePath)],
  ] as const) {
    try {
      return path.join(disk.realpathSync(start), rest)
    } catch {
      // The path no longer exists.
    }
  }
  return filePath
}
