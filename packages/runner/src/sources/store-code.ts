import { bytesText } from '@retake/tape/present'
import { attempt, type RecordedCode, type Tape } from '@retake/tape/format'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { reason } from '@retake/engine/errors'
import path from 'node:path'
import { entryOf, readCode } from './source-code.js'
import { fromHere, painter } from '../terminal/terminal.js'
import {
  CONTENT_BYTES_MAX,
  filesOfCode,
  FRESH_MS,
  parseSourceList,
  shaOf,
  sourceListOf,
  SourceStore,
  storedContent,
} from './source-store.js'
import { UnchangedCode } from './unchanged-code.js'

/**
 * Reads the code of a program that is about to run, and keeps its contents beside the runs. If that
 * is impossible, says so on stderr, and the run names a list that is not there.
 */
export const storeCode = (
  entry: string,
  cwd: string,
  runsFolder: string,
  options?: Parameters<typeof readCode>[2],
): RecordedCode =>
  storeCodeIn(entry, cwd, SourceStore.besideRuns(runsFolder), { onNote: warn, ...options }).code

const warned = new Set<string>()
const warn = (text: string): void => {
  if (warned.has(text)) return
  warned.add(text)
  process.stderr.write(`${painter(process.stderr)('yellow', 'note')}  ${text}\n`)
}

/** For a recorded child process, whose output the agent reads: reports no problems. */
export function storeCodeOfChild(entry: string, tape: string): RecordedCode | undefined {
  const store = SourceStore.besideRuns(path.dirname(tape))
  const { code } = storeCodeIn(entry, process.cwd(), store, { onNote: () => {} })
  return code.files === 0 ? undefined : code
}

interface StoredCode {
  readonly code: RecordedCode
  /** The list as it was kept, unless it was there already. */
  readonly list?: Buffer
}

/** Code that is unchanged since it was kept here is not read again. */
function storeCodeIn(
  entry: string,
  cwd: string,
  store: SourceStore,
  { onNote, withTexts = false }: { onNote: (text: string) => void; withTexts?: boolean },
): StoredCode {
  const unchanged = new UnchangedCode(store.folder)
  const program = JSON.stringify([entry, cwd, process.cwd(), withTexts])
  const known = unchanged.find(program)
  if (known !== undefined && store.renew(known.code.list)) {
    noteLarge(known.tooLarge, onNote)
    return { code: known.code }
  }
  const since = Date.now()
  const { list, contents, tooLarge, reads } = readCode(entry, cwd, { withTexts })
  noteLarge(tooLarge, onNote)
  const bytes = Buffer.from(JSON.stringify(list))
  const code = { list: shaOf(bytes), files: Object.keys(filesOfCode(list)).length }
  if (code.files === 0) return { code, list: bytes }
  try {
    // The list comes last: where it is, its contents are.
    store.keep(new Map([...contents, [code.list, bytes]]))
    if (reads !== undefined) unchanged.remember(program, { code, tooLarge }, reads, since)
  } catch (error) {
    onNote(notStoredText(store, error))
  }
  return { code, list: bytes }
}

function noteLarge(files: readonly string[], onNote: (text: string) => void): void {
  if (files.length > 0)
    onNote(
      `${files.map(fromHere).join(', ')}: larger than ${bytesText(CONTENT_BYTES_MAX)}, so this code is not kept with the run`,
    )
}

const notStoredText = ({ folder }: SourceStore, error: unknown): string =>
  `the code of this run is not kept, because ${fromHere(folder)} cannot be written: ${reason(error)}`

/** For a branch that runs the code of its parent: keeps that code beside the branch, too. */
export function storeCodeOfParent(tape: Tape, runsFolder: string): RecordedCode | undefined {
  const { code } = tape.details
  const list = sourceListOf(tape)
  if (code === undefined || list === undefined) return code
  const store = SourceStore.besideRuns(runsFolder)
  const contents = [...Object.values(filesOfCode(list)), code.list].flatMap((sha) => {
    const content = storedContent(tape, sha)
    return content === undefined ? [] : [[sha, content] as const]
  })
  try {
    store.keep(new Map(contents))
  } catch (error) {
    warn(notStoredText(store, error))
  }
  return code
}

interface FunctionCode {
  readonly code: RecordedCode
  /** The list as it is kept; missing if it could not be read again. */
  readonly list: Buffer | undefined
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
    const store = SourceStore.besideRuns(folder)
    const { code, list } = storeCodeIn(path.resolve(file ?? entry), cwd, store, {
      onNote: warn,
      withTexts: true,
    })
    const stores = new Map([[folder, { store, storedAt: Date.now() }]])
    known = { code, list: list ?? store.read(code.list), stores }
    functionCode.set(key, known)
  }
  const { code, stores } = known
  const stored = stores.get(folder)
  // By then, `retake rm` may have removed all runs with this code.
  if (stored === undefined || Date.now() - stored.storedAt > FRESH_MS / 2) {
    const store = SourceStore.besideRuns(folder)
    try {
      store.keep(contentsOf(known, cwd))
    } catch (error) {
      warn(notStoredText(store, error))
    }
    stores.set(folder, { store, storedAt: Date.now() })
  }
  return code.files === 0 ? undefined : code
}

/** Reads contents that are not in memory from unchanged files or from a store. */
function contentsOf({ code, list: bytes, stores }: FunctionCode, cwd: string): Map<string, Buffer> {
  const contents = new Map<string, Buffer>()
  const list = bytes && parseSourceList(bytes)
  if (bytes === undefined || list === undefined) return contents
  for (const [file, sha] of Object.entries(filesOfCode(list))) {
    const today = attempt(() => readFileSync(path.resolve(cwd, file)))
    if (today !== undefined && shaOf(today) === sha) contents.set(sha, today)
    for (const { store } of contents.has(sha) ? [] : stores.values()) {
      const content = store.read(sha)
      if (content !== undefined) contents.set(sha, content)
    }
  }
  return contents.set(code.list, bytes)
}
