import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { RunStore } from '../runs/run-store.js'
import { cliRoot } from '../package-root.js'

const PACKAGE = fileURLToPath(cliRoot)

/** A copy of files that come with the package, which the user may look into and change. */
export interface ShippedFolder {
  readonly store: RunStore
  /** Path of one of the files, as one would type it. */
  pathOf(file: string): string
  /** Changes one word of a file; the answer takes it back. */
  edit(file: string, word: string, replacement: string): () => void
}

/** Under `.retake` here, or in a temporary folder where nothing can be written. */
export function copyShipped(name: 'demo' | 'sample', files: readonly string[]): ShippedFolder {
  const shipped = path.join(PACKAGE, name)
  try {
    const store = new RunStore()
    store.prepare()
    return fill(path.join('.retake', name), shipped, files, store)
  } catch {
    const temporary = mkdtempSync(path.join(tmpdir(), `retake-${name}-`))
    const store = new RunStore(path.join(temporary, 'runs'))
    store.prepare()
    return fill(temporary, shipped, files, store)
  }
}

/** The same in a temporary folder, for what nobody needs to look into; `remove` it. */
export function copyShippedAside(
  name: 'validate',
  files: readonly string[],
): ShippedFolder & { remove(): void } {
  const temporary = mkdtempSync(path.join(tmpdir(), `retake-${name}-`))
  const store = new RunStore(path.join(temporary, 'runs'))
  store.prepare()
  const filled = fill(temporary, path.join(PACKAGE, name), files, store)
  // They need the engine only, and are started often.
  link(temporary, '@retake/engine', fileURLToPath(import.meta.resolve('@retake/engine')))
  return {
    ...filled,
    remove: () => rmSync(temporary, { recursive: true, force: true }),
  }
}

function fill(
  folder: string,
  shipped: string,
  files: readonly string[],
  store: RunStore,
): ShippedFolder {
  mkdirSync(folder, { recursive: true })
  for (const file of files) copyFileSync(path.join(shipped, file), path.join(folder, file))
  linkPackage(folder)
  const pathOf = (file: string): string => path.join(folder, file)
  return {
    store,
    pathOf,
    edit(file, word, replacement) {
      const agent = pathOf(file)
      const original = readFileSync(agent, 'utf8')
      const { atime, mtime } = statSync(agent)
      writeFileSync(agent, original.replace(word, replacement))
      return () => {
        writeFileSync(agent, original)
        // Also its time: a file saved after the recording would be warned of.
        utimesSync(agent, atime, mtime)
      }
    },
  }
}

/** The files import `retake`, which need not be installed where they run. */
const linkPackage = (folder: string): void => link(folder, 'retake', path.join(PACKAGE, 'dist/x'))

/** `file` is any in the folder `dist` of the package. */
function link(folder: string, name: string, file: string): void {
  const target = path.join(folder, 'node_modules', name)
  mkdirSync(path.dirname(target), { recursive: true })
  rmSync(target, { force: true })
  symlinkSync(path.dirname(path.dirname(file)), target, 'junction')
}
