import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs'
import path from 'node:path'
import { record } from '@retake/engine'
import { runsFolderNotWritable } from '../errors.js'
import { projectRoot } from '../project-root.js'

/**
 * Records to a folder beside the tape and puts the finished one in its place, so
 * that a tape is always a whole one, the old or the new. A run that throws leaves
 * the old one, unless throwing is what it is meant to do.
 */
export async function recordAside<T>(
  file: string,
  agent: () => T | Promise<T>,
  options: { readonly throws: boolean },
): Promise<T> {
  const aside = folderBeside(file)
  const keep = (): void => {
    const [tape] = readdirSync(aside)
    if (tape !== undefined) renameSync(path.join(aside, tape), file)
  }
  try {
    const name = path.basename(file).replace(/\.tape$/, '')
    const { output } = await record({ name, dir: aside, root: projectRoot(file) }, agent).catch(
      (error: unknown) => {
        if (options.throws) keep()
        throw error
      },
    )
    keep()
    return output
  } finally {
    rmSync(aside, { recursive: true, force: true })
  }
}

function folderBeside(file: string): string {
  const folder = path.dirname(file)
  try {
    mkdirSync(folder, { recursive: true })
    return mkdtempSync(path.join(folder, `.${path.basename(file)}.recording-`))
  } catch (error) {
    throw runsFolderNotWritable(folder, error)
  }
}
