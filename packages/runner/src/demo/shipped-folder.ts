import { recordAgent, type AgentRecording, type RecordingOptions } from '../agent/record-agent.js'
import { Interrupted } from '../terminal/exit-codes.js'
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
import { viewRun } from '../runs/view-run.js'
import { commandRoot } from '../package-root.js'
import type { Tape } from '@retake/tape'
import { openTape } from '@retake/tape/node'
import { withScriptedModel } from '../agent/scripted-model.js'

/** A copy of files shipped with the package, which users may read and change. */
export interface ShippedFolder {
  readonly store: RunStore
  /** Option with which commands find the runs: they are elsewhere if this folder is read-only. */
  readonly where: string
  pathOf(file: string): string
  /** Changes one word of a file. Returns its undo. */
  edit(file: string, word: string, replacement: string): () => void
}

export const DEMO_AGENT = 'agent.ts'

export const copyDemo = (): ShippedFolder => copyShipped('demo', [DEMO_AGENT, 'shop.json'])

export const freeModelSentence = (model: string): string =>
  `The scripted model is free; the costs shown are those of ${model}.`

/** Under `.retake` here, or in a temporary folder if that is not writable. */
export function copyShipped(name: 'demo' | 'sample', files: readonly string[]): ShippedFolder {
  try {
    const store = new RunStore()
    store.prepare()
    return fill(path.join('.retake', name), name, files, store)
  } catch {
    return fillAside(name, files).folder
  }
}

/** The same in a temporary folder, for files that nobody needs to see. Call `remove` afterwards. */
export function copyShippedToTemporary(
  name: 'validate',
  files: readonly string[],
): ShippedFolder & { remove(): void } {
  const { temporary, folder } = fillAside(name, files)
  // These programs need only the engine, and start often.
  link(temporary, '@retake/engine', fileURLToPath(import.meta.resolve('@retake/engine')))
  return { ...folder, remove: () => rmSync(temporary, { recursive: true, force: true }) }
}

function fillAside(
  name: string,
  files: readonly string[],
): { temporary: string; folder: ShippedFolder } {
  const temporary = mkdtempSync(path.join(tmpdir(), `retake-${name}-`))
  const store = new RunStore(path.join(temporary, 'runs'))
  store.prepare()
  return { temporary, folder: fill(temporary, name, files, store) }
}

function fill(
  folder: string,
  name: string,
  files: readonly string[],
  store: RunStore,
): ShippedFolder {
  mkdirSync(folder, { recursive: true })
  for (const file of files)
    copyFileSync(new URL(`${name}/${file}`, commandRoot()), path.join(folder, file))
  // The files import `retake`, which may not be installed here.
  link(folder, 'retake', fileURLToPath(new URL('dist/x', commandRoot())))
  const pathOf = (file: string): string => path.join(folder, file)
  const isHere = store.folder === new RunStore().folder
  return {
    store,
    where: isHere ? '' : ` --dir ${store.folder}`,
    pathOf,
    edit(file, word, replacement) {
      const agent = pathOf(file)
      const original = readFileSync(agent, 'utf8')
      const { atime, mtime } = statSync(agent)
      writeFileSync(agent, original.replace(word, replacement))
      return () => {
        writeFileSync(agent, original)
        // Restores its time too, because a file saved after the recording causes a warning.
        utimesSync(agent, atime, mtime)
      }
    },
  }
}

/** `file`: any file in the `dist` folder of the package. */
function link(folder: string, name: string, file: string): void {
  const target = path.join(folder, 'node_modules', name)
  mkdirSync(path.dirname(target), { recursive: true })
  rmSync(target, { force: true })
  symlinkSync(path.dirname(path.dirname(file)), target, 'junction')
}

export async function recordShipped(
  folder: Pick<ShippedFolder, 'store' | 'pathOf'>,
  file: string,
  options: Partial<RecordingOptions>,
): Promise<AgentRecording> {
  const stdio = ['ignore', 'pipe', 'inherit'] as const
  const { store } = folder
  const entry = folder.pathOf(file)
  const recording = await recordAgent({ store, entry, args: [], stdio: [...stdio], ...options })
  if (recording.interruptedBy) throw new Interrupted(recording.interruptedBy)
  return recording
}

/**
 * Records the refund agent, with its output on stderr, and passes its tape to `use`. The scripted
 * model answers until `use` is done, for live forks.
 */
export const withDemoRun = (
  folder: Pick<ShippedFolder, 'store' | 'pathOf'>,
  name: string,
  use: (tape: Tape) => Promise<number>,
): Promise<number> =>
  withScriptedModel(async (url) => {
    process.stderr.write(`$ retake record ${folder.pathOf(DEMO_AGENT)}\n`)
    const { tape } = await recordShipped(folder, DEMO_AGENT, {
      name,
      env: { MODEL_URL: url },
      onOutput: (chunk) => process.stderr.write(chunk),
    })
    const recorded = openTape(tape)
    const model = viewRun(recorded).recordedSteps.find(({ kind }) => kind === 'model')
    process.stderr.write(`\n${freeModelSentence(model?.model ?? '')}\n`)
    return use(recorded)
  })
