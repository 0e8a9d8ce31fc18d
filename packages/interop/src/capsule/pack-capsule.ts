import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import path from 'node:path'
import { childrenFolder } from '@retake/engine/runs'
import { cliErrors } from '@retake/runner/errors'
import { type MaskedSource, maskSources, tapeLineage } from '@retake/runner/privacy'
import { readPart } from '@retake/runner/read-part'
import { isRecording } from '@retake/runner/runs'
import {
  codeNotStored,
  filesOfCode,
  recordedSources,
  sourceListOf,
  storedContent,
} from '@retake/runner/sources'
import { attempt, type SourceList, type Tape } from '@retake/tape/format'
import { openOwnTape, openTape } from '@retake/tape/node'
import { filesOfTape, maskedLines, projectOf, type SourceLists } from './capsule-code.js'
import {
  CAPSULE_BYTES_MAX,
  CAPSULE_FORMAT,
  type CapsuleEntry,
  writeCapsule,
} from './capsule-file.js'

export interface PackedCapsule {
  readonly run: string
  readonly tapes: number
  readonly sources: number
  /** Bytes of the capsule. */
  readonly bytes: number
  /** Lines with masked secrets, as `file:line`. */
  readonly masked: readonly string[]
}

/** Tapes of a run by their names in a capsule: ancestors, itself, and processes that they started. */
export function capsuleTapes(file: string): Map<string, string> {
  const tapes = new Map<string, string>()
  for (const tape of tapeLineage(file)) {
    const { id } = openOwnTape(tape).run
    tapes.set(`runs/${id}.tape`, tape)
    const folder = childrenFolder(tape)
    for (const name of attempt(() => readdirSync(folder), []))
      if (name.endsWith('.tape')) tapes.set(`runs/${id}.children/${name}`, path.join(folder, name))
  }
  return tapes
}

/**
 * Writes a run, its ancestors and its code into one file. Secrets in the code are masked, unless
 * `allowsSecrets`. Does not search the tapes.
 */
export async function packCapsule(
  file: string,
  out: string,
  { allowsSecrets }: { readonly allowsSecrets: boolean },
): Promise<PackedCapsule> {
  const { run } = openTape(file)
  if (isRecording(file, run.scope)) throw cliErrors.RUN_STILL_RECORDING(run.id)
  const files = capsuleTapes(file)
  const own = openOwnTape(file)
  const others = [...files.values()]
    .filter((each) => each !== file)
    .map((each) => openOwnTape(each))
  const started = others.filter(({ path: each }) => path.dirname(each) === childrenFolder(file))
  const lists = new Map<string, SourceList>()
  const listBytes = new Map<string, Buffer>()
  for (const tape of [own, ...others]) {
    const { list = '' } = tape.details.code ?? {}
    const parsed = sourceListOf(tape)
    const bytes = storedContent(tape, list)
    if (parsed === undefined || bytes === undefined) continue
    lists.set(list, parsed)
    listBytes.set(list, bytes)
  }
  const project = projectOf([own, ...started], lists)
  if (project.refused !== undefined) throw cliErrors.CAPSULE_NOT_POSSIBLE(run.id, project.refused)
  const sources = sourcesOf([own, ...others], lists)
  const needed = [...project.files.values()]
  if (needed.length === 0 || needed.some((sha) => !sources.has(sha))) throw codeNotStored(own)
  // A list cannot be masked, because its digest is on the tape.
  const paths = [...lists.values()].flatMap((list) => Object.keys(filesOfCode(list)))
  const searched = maskSources(new Map([['paths', Buffer.from(paths.join('\n'))]]))
  const found = searched.get('paths')?.masked.length ?? 0
  if (found > 0 && !allowsSecrets) throw cliErrors.SECRETS_FOUND(run.id, found, 'paths of its code')
  const contents: ReadonlyMap<string, MaskedSource> = allowsSecrets
    ? new Map(Array.from(sources, ([sha, bytes]) => [sha, { bytes, masked: [] }]))
    : maskSources(sources)
  const tapes = Array.from(files, ([name, each]) => tapeEntry(name, each))
  const entries: CapsuleEntry[] = [
    ...tapes.map(({ entry }) => entry),
    ...Array.from(listBytes, ([sha, bytes]) => sourceEntry(sha, { bytes, masked: [] })),
    ...Array.from(contents, ([sha, source]) => sourceEntry(sha, source)),
  ]
  if (entries.reduce((sum, { bytes }) => sum + bytes, 0) > CAPSULE_BYTES_MAX)
    throw cliErrors.CAPSULE_NOT_POSSIBLE(run.id)
  const parts = function* ({ name, bytes }: CapsuleEntry): Generator<Uint8Array> {
    const sha = name.replace('sources/', '')
    const source = listBytes.get(sha) ?? contents.get(sha)?.bytes
    const tape = tapes.find(({ entry }) => entry.name === name)
    if (source !== undefined) yield source
    else if (tape !== undefined)
      for (let at = 0; at < bytes; at += PART_BYTES)
        yield readPart(tape.path, at, Math.min(PART_BYTES, bytes - at))
  }
  try {
    await writeCapsule(out, { capsule: CAPSULE_FORMAT, run: run.id, files: entries }, parts)
  } catch (error) {
    rmSync(out, { force: true })
    if ((error as NodeJS.ErrnoException).syscall === undefined) throw error
    throw cliErrors.FILE_NOT_WRITABLE(out, error)
  }
  return {
    run: run.id,
    tapes: tapes.length,
    sources: contents.size,
    bytes: statSync(out).size,
    masked: maskedLines(project.files, contents),
  }
}

const sourceEntry = (sha: string, { bytes, masked }: MaskedSource): CapsuleEntry => ({
  name: `sources/${sha}`,
  bytes: bytes.length,
  sha256: shaOf(bytes),
  ...(masked.length > 0 && { masked }),
})

const PART_BYTES = 8 << 20
export const shaOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

/** Contents of all code that is on these tapes, as far as they were kept, by digest. */
function sourcesOf(tapes: readonly Tape[], lists: SourceLists): Map<string, Buffer> {
  const contents = new Map<string, Buffer>()
  for (const tape of tapes) {
    const shas = filesOfTape(tape, lists)
    const { cwd = '.' } = tape.details
    const byPath = new Map(
      Object.entries(shas).map(([file, sha]) => [path.resolve(cwd, file), sha]),
    )
    for (const [file, kept] of recordedSources(tape)) {
      const sha = byPath.get(file) ?? ''
      const content = kept ?? attempt(() => (existsSync(file) ? readFileSync(file) : undefined))
      if (content !== undefined && shaOf(content) === sha) contents.set(sha, content)
    }
  }
  return contents
}

function tapeEntry(name: string, file: string): { path: string; entry: CapsuleEntry } {
  // The torn end of a killed run belongs to no event, so no search covers it.
  const bytes = statSync(file).size - openOwnTape(file).tornBytes
  const hash = createHash('sha256')
  for (let at = 0; at < bytes; at += PART_BYTES)
    hash.update(readPart(file, at, Math.min(PART_BYTES, bytes - at)))
  return { path: file, entry: { name, bytes, sha256: hash.digest('hex') } }
}
