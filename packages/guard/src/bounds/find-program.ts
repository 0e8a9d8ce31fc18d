import { accessSync, constants, realpathSync, statSync } from 'node:fs'
import path from 'node:path'
import { outsideRuns } from '@retake/engine/hook'

/** Where programs are looked for when no `PATH` says so. */
const DEFAULT_PATH = ['/bin', '/usr/bin']
const isWindows = process.platform === 'win32'

export interface Surroundings {
  /** The folder that the program starts in. */
  readonly cwd: string
  /** `PATH` as the program would get it. */
  readonly path: string | undefined
}

/** The real file behind a program, found as the system finds it; undefined when there is none. */
export function findProgram(file: string, { cwd, path: list }: Surroundings): string | undefined {
  return outsideRuns(() => {
    if (isPath(file)) return realFile(path.resolve(cwd, file))
    const folders = list === undefined ? DEFAULT_PATH : list.split(path.delimiter)
    for (const folder of isWindows ? ['.', ...folders] : folders) {
      const found = realFile(path.resolve(cwd, folder, file))
      if (found !== undefined) return found
    }
    return undefined
  })
}

/** A name with a separator is not looked for. */
export const isPath = (file: string): boolean =>
  file.includes('/') || (isWindows && /[\\:]/.test(file))

/** What a program is called by, whatever folder it is in: some do something else under another name. */
export function programName(file: string): string {
  const name = path.basename(file)
  return isWindows ? name.toLowerCase().replace(/\.(exe|com)$/, '') : name
}

function realFile(file: string): string | undefined {
  for (const ending of isWindows ? ['', '.com', '.exe'] : ['']) {
    try {
      accessSync(file + ending, constants.X_OK)
      if (statSync(file + ending).isFile()) return realpathSync.native(file + ending)
    } catch {
      // Not this one.
    }
  }
  return undefined
}
