import fs from 'node:fs'
import path from 'node:path'
import type { Tape } from '@retake/tape'
import { openOwnTape } from '@retake/tape/node'

/** Captured before the file boundary is patched. */
const { copyFileSync, existsSync, linkSync, mkdirSync } = fs

/**
 * Puts the tapes that a branch goes on from into the folder of the branch, where
 * they are looked for. Nothing happens where they lie there already.
 */
export function linkParents(tape: Tape, folder: string): void {
  const from = path.dirname(path.resolve(tape.path))
  if (path.resolve(folder) === from) return
  mkdirSync(folder, { recursive: true })
  for (let id: string | undefined = tape.run.id; id !== undefined;) {
    const file = path.join(from, `${id}.tape`)
    const isNamed = existsSync(file)
    link(isNamed ? file : path.resolve(tape.path), path.join(folder, `${id}.tape`))
    id = isNamed ? openOwnTape(file).run.parent?.run : undefined
  }
}

/** Another name for the file; a copy on another disk. */
function link(file: string, name: string): void {
  if (existsSync(name)) return
  try {
    linkSync(file, name)
  } catch {
    if (!existsSync(name)) copyFileSync(file, name)
  }
}
