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
import { RunStore } from '../run-store.js'

const SHIPPED = fileURLToPath(new URL('../../demo/', import.meta.url))
const PACKAGE = fileURLToPath(new URL('../../', import.meta.url))

/** Where the demo's agent runs: a copy the user may look into and change. */
export interface DemoFolder {
  readonly store: RunStore
  /** Path of the agent, as one would type it. */
  readonly agent: string
  /** Changes one word of the agent; the answer takes it back. */
  edit(word: string, replacement: string): () => void
}

/** Under `.retake` here, or in a temporary folder where nothing can be written. */
export function makeDemoFolder(): DemoFolder {
  try {
    const store = new RunStore()
    store.prepare()
    return fill(path.join('.retake', 'demo'), store)
  } catch {
    const temporary = mkdtempSync(path.join(tmpdir(), 'retake-demo-'))
    const store = new RunStore(path.join(temporary, 'runs'))
    store.prepare()
    return fill(temporary, store)
  }
}

function fill(folder: string, store: RunStore): DemoFolder {
  mkdirSync(folder, { recursive: true })
  for (const file of ['agent.ts', 'shop.json'])
    copyFileSync(path.join(SHIPPED, file), path.join(folder, file))
  linkPackage(folder)
  const agent = path.join(folder, 'agent.ts')
  return {
    store,
    agent,
    edit(word, replacement) {
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

/** The agent imports `retake`, which need not be installed where the demo runs. */
function linkPackage(folder: string): void {
  const link = path.join(folder, 'node_modules', 'retake')
  mkdirSync(path.dirname(link), { recursive: true })
  rmSync(link, { force: true })
  symlinkSync(PACKAGE, link, 'junction')
}
