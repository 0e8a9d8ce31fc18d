import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs'
import path from 'node:path'
import { runsFolderNotWritable } from '../errors/programs.js'

/**
 * Lets `make` write a tape to a folder beside the one that is wanted, and puts it
 * in its place when it is finished, so that a tape is always a whole one, the old
 * or the new. When `make` throws, the old
 * one stays, unless throwing is what it is meant to do.
 */
export async function recordAside<T>(
  file: string,
  make: (folder: string) => Promise<T>,
  options: { readonly throws: boolean },
): Promise<T> {
  const aside = folderBeside(file)
  const keep = (): void => {
    const tape = readdirSync(aside).find((name) => name.endsWith('.tape'))
    if (tape !== undefined) renameSync(path.join(aside, tape), file)
  }
  try {
    const made = await make(aside).catch((error: unknown) => {
      if (options.throws) keep()
      throw error
    })
    keep()
    return made
  } finally {
    rmSync(aside, { recursive: true, force: true })
  }
}

/** What a recorded run is called: its tape's name. */
export const nameOfTape = (file: string): string => path.basename(file).replace(/\.tape$/, '')

function folderBeside(file: string): string {
  const folder = path.dirname(file)
  try {
    mkdirSync(folder, { recursive: true })
    const prefix = `.${path.basename(file)}.recording-`
    removeLeftovers(folder, prefix)
    return mkdtempSync(path.join(folder, `${prefix}${process.pid}-`))
  } catch (error) {
    throw runsFolderNotWritable(folder, error)
  }
}

/** What recordings left behind that were killed. */
function removeLeftovers(folder: string, prefix: string): void {
  for (const name of readdirSync(folder)) {
    if (!name.startsWith(prefix)) continue
    const pid = Number(name.slice(prefix.length).split('-')[0])
    if (!isRunning(pid)) rmSync(path.join(folder, name), { recursive: true, force: true })
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
