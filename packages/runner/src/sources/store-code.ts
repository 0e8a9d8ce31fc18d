import { bytesText } from '@retake/tape/present'
import { attempt, type RecordedCode } from '@retake/tape/format'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { reason } from '@retake/engine/errors'
import path from 'node:path'
import { entryOf, readCode } from './source-code.js'
import { fromHere, painter } from '../terminal/terminal.js'
import { CONTENT_BYTES_MAX, filesOfCode, FRESH_MS, shaOf, SourceStore } from './source-store.js'

/**
 * Reads the code of a program that is about to run, and keeps its contents beside the runs. If that
 * is impossible, says so on stderr, and the run is recorded with digests only.
 */
export function storeCode(
  entry: string,
  cwd: string,
  runsFolder: string,
  options?: Parameters<typeof readCode>[2],
): RecordedCode {
  const { code, contents, tooLarge } = readCode(entry, cwd, options)
  const store = SourceStore.besideRuns(runsFolder)
  if (tooLarge.length > 0)
    warn(
      `${tooLarge.map(fromHere).join(', ')}: larger than ${bytesText(CONTENT_BYTES_MAX)}, so this code is not kept with the run`,
    )
  storeIn(store, contents)
  return code
}

const warned = new Set<string>()
const warn = (text: string): void => {
  if (warned.has(text)) return
  warned.add(text)
  process.stderr.write(`${painter(process.stderr)('yellow', 'note')}  ${text}\n`)
}

/** For a recorded child process, whose output the agent reads: reports no problems. */
export function storeCodeOfChild(entry: string, tape: string): RecordedCode | undefined {
  const { code, contents } = readCode(entry)
  if (Object.keys(code.files).length === 0) return undefined
  attempt(() => SourceStore.besideRuns(path.dirname(tape)).keep(contents))
  return code
}

interface FunctionCode {
  readonly code: RecordedCode
  /** Stores that have its contents, by the folder of the runs, and when that was ensured. */
  readonly stores: Map<string, { readonly store: SourceStore; storedAt: number }>
}

/** By entry and working directory. */
const functionCode = new Map<string, FunctionCode>()

/**
 * `storeCode` for runs of `record()`, such as those of a server. The code is read once, when the
 * first run of this process begins. Undefined if the module does not exist.
 *
 * Not promised: if a file is saved between the start of the process and its first run, the saved
 * text is kept, although the process may have loaded an older one.
 */
export function storeCodeOfFunction(entry: string, runsFolder: string): RecordedCode | undefined {
  const cwd = process.cwd()
  const key = `${entry}\0${cwd}`
  const folder = path.resolve(runsFolder)
  let known = functionCode.get(key)
  if (known === undefined) {
    const file = entry.startsWith('file:')
      ? fileURLToPath(entry)
      : entryOf({ run: { scope: 'function' }, details: { entry } })?.file
    const code = storeCode(path.resolve(file ?? entry), cwd, folder, { withTexts: true })
    const store = SourceStore.besideRuns(folder)
    known = { code, stores: new Map([[folder, { store, storedAt: Date.now() }]]) }
    functionCode.set(key, known)
  }
  const { code, stores } = known
  const stored = stores.get(folder)
  // By then, `retake rm` may have removed all runs with this code.
  if (stored === undefined || Date.now() - stored.storedAt > FRESH_MS / 2) {
    const store = SourceStore.besideRuns(folder)
    storeIn(store, contentsOf(known, cwd))
    stores.set(folder, { store, storedAt: Date.now() })
  }
  return Object.keys(code.files).length === 0 ? undefined : code
}

/** Reads contents that are not in memory from unchanged files or from a store. */
function contentsOf({ code, stores }: FunctionCode, cwd: string): Map<string, Buffer> {
  const contents = new Map<string, Buffer>()
  for (const [file, sha] of Object.entries(filesOfCode(code))) {
    const today = attempt(() => readFileSync(path.resolve(cwd, file)))
    if (today !== undefined && shaOf(today) === sha) contents.set(sha, today)
    for (const { store } of contents.has(sha) ? [] : stores.values()) {
      const content = store.read(sha)
      if (content !== undefined) contents.set(sha, content)
    }
  }
  return contents
}

function storeIn(store: SourceStore, contents: ReadonlyMap<string, Buffer>): void {
  try {
    store.keep(contents)
  } catch (error) {
    warn(
      `the code of this run is not kept, because ${fromHere(store.folder)} cannot be written: ${reason(error)}`,
    )
  }
}
