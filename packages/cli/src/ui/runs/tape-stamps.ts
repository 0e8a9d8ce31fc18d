import { readdirSync, statSync } from 'node:fs'
import type { RunStore } from '../../run-store.js'

/** What a file looks like from outside: as long as it stays, so does what was read from it. */
export interface TapeStamp {
  readonly text: string
  readonly bytes: number
  readonly modifiedAt: number
}

/** Undefined when there is no such tape. */
export function stampOf(file: string): TapeStamp | undefined {
  const found = statSync(file, { throwIfNoEntry: false })
  if (found === undefined || !found.isFile()) return undefined
  const { ino, size, mtimeMs } = found
  return { text: `${ino} ${size} ${mtimeMs}`, bytes: size, modifiedAt: mtimeMs }
}

/** Every run of a folder, by id, without reading any. No folder is one without runs. */
export function stampsOf(store: RunStore): ReadonlyMap<string, TapeStamp> {
  const stamps = new Map<string, TapeStamp>()
  for (const id of idsIn(store)) {
    const stamp = stampOf(store.pathOf(id))
    if (stamp !== undefined) stamps.set(id, stamp)
  }
  return stamps
}

function idsIn({ folder }: RunStore): string[] {
  try {
    return readdirSync(folder)
      .filter((name) => name.endsWith('.tape'))
      .map((name) => name.slice(0, -'.tape'.length))
  } catch {
    return []
  }
}
