import { isUtf8 } from 'node:buffer'
import { readdirSync, statSync } from 'node:fs'
import path from 'node:path'
import { containsSecret, SecretMask, unreadableFrom } from '@retake/engine/runs'
import { maskKeys, reason, type Tape, TapeError } from '@retake/tape'
import { hasPossibleSecret } from '@retake/tape/secrets'
import { isBeingWritten, openOwnTape } from '@retake/tape/node'
import { cliErrors } from '../errors.js'
import { readPart } from '../read-part.js'
import type { RunStore } from '../runs/run-store.js'

/** Something that looks like a secret. Never contains the secret itself. */
export interface SecretFinding {
  /**
   * `variable`: the value of a secret variable of this process. `key`: a known shape. `value`:
   * encoded, or random after a name. `possible`: near such a word; the recorder does not hide it.
   */
  readonly rule: SecretRule
  readonly file: string
  readonly event?: number
  /** `request body` on a tape; `line 12` in another file. */
  readonly where: string
  readonly line?: number
}

export const SECRET_RULES = {
  variable: 'the value of a secret environment variable',
  key: 'a credential of a known shape',
  value: 'an encoded credential, or a random value after a secret-like name',
  possible: 'possibly a secret: a random value near a word such as key or password',
} as const
export type SecretRule = keyof typeof SECRET_RULES

/** A recording's mask with the secrets of this process. */
export function ownSecrets(): SecretMask {
  const mask = new SecretMask()
  mask.addEnvironment(process.env)
  return mask
}

/** Secrets anywhere on a tape, without its ancestors, which are other files. */
export const secretsOnTape = (file: string): readonly SecretFinding[] =>
  searchTape(openOwnTape(file)).findings

function searchTape(tape: Tape): ScannedFile {
  const file = tape.path
  const mask = ownSecrets()
  const findings: SecretFinding[] = []
  const possible: SecretFinding[] = []
  const look = (event: number, where: string, before: string, after: string): void => {
    if (before !== after) findings.push({ rule: ruleOf(before), file, event, where })
    if (hasPossibleSecret(after)) possible.push({ rule: 'possible', file, event, where })
  }
  const details = JSON.stringify(tape.details)
  look(0, 'run record', details, mask.text(details))
  for (const event of tape.events()) {
    if (event.type === 'seal') continue
    const { digest: _, ...members } = { digest: undefined, ...event }
    const header = JSON.stringify(members).replace(SALT, '')
    look(event.seq, `${event.type} event`, header, mask.text(header))
    const body = tape.body(event.seq)
    if (body.length === 0) continue
    const masked = mask.body(event, body)
    look(event.seq, `${event.type} body`, latin1(body), latin1(masked))
  }
  return { findings, possible }
}

/** Signed runs have a random salt in each event, which looks like a secret. */
const SALT = /,"salt":"[\w-]{22}"(?=\}$)/

const latin1 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('latin1')

/** Larger files are read in pieces. */
const PIECE_BYTES = 64 << 20
/** Pieces overlap, so that a secret on their border is complete in one of them. */
const OVERLAP_BYTES = 1 << 20

/** Searches a file that is not a tape, line by line. */
function searchBytes(file: string): ScannedFile {
  const size = statSync(file).size
  const findings = new Map<string, SecretFinding>()
  const possible = new Map<string, SecretFinding>()
  let unread: string | undefined
  let linesBefore = 0
  for (let at = 0; at === 0 || at < size; at += PIECE_BYTES) {
    const bytes = readPart(file, at, PIECE_BYTES + OVERLAP_BYTES)
    if (at === 0 && !isText(bytes) && unreadableFrom(bytes) !== undefined)
      unread = 'It is compressed, and too large or incomplete to unpack.'
    const piece = searchPiece(file, bytes, linesBefore)
    for (const finding of piece.findings) findings.set(finding.where, finding)
    for (const finding of piece.possible) possible.set(finding.where, finding)
    const own = bytes.subarray(0, PIECE_BYTES)
    for (let end = own.indexOf(10); end >= 0; end = own.indexOf(10, end + 1)) linesBefore += 1
  }
  return {
    findings: [...findings.values()],
    possible: [...possible.values()],
    ...(unread !== undefined && { unread }),
  }
}

function searchPiece(file: string, bytes: Buffer, linesBefore: number): ScannedFile {
  const text = latin1(bytes)
  const masked = latin1(ownSecrets().body({ type: 'result', op: 0 }, bytes))
  const [before, after] = [text.split('\n'), masked.split('\n')]
  // In compressed or changed content, lines do not correspond.
  if (before.length !== after.length || bytes.includes(0)) {
    const finding: SecretFinding = { rule: ruleOf(text), file, where: 'content' }
    return { findings: masked === text ? [] : [finding], possible: [] }
  }
  const at = (index: number): Omit<SecretFinding, 'rule'> => {
    const line = linesBefore + index + 1
    return { file, where: `line ${line}`, line }
  }
  return {
    findings: before.flatMap((each, index) =>
      each === after[index] ? [] : [{ rule: ruleOf(each), ...at(index) }],
    ),
    possible: after.flatMap((each, index) =>
      hasPossibleSecret(each) ? [{ rule: 'possible' as const, ...at(index) }] : [],
    ),
  }
}

/** Enough to tell text from compressed content, which may begin like text. */
const START_BYTES = 4096

function isText(bytes: Buffer): boolean {
  const start = bytes.subarray(0, START_BYTES)
  // The last character may be incomplete.
  return [0, 1, 2, 3].some((cut) => isUtf8(start.subarray(0, start.length - cut)))
}

function ruleOf(before: string): SecretRule {
  const isVariable = Object.entries(process.env).some(
    ([name, value = '']) =>
      value.length >= 8 && containsSecret(name, value) && before.includes(value),
  )
  if (isVariable) return 'variable'
  return maskKeys(before) === before ? 'value' : 'key'
}

const SKIPPED = new Set(['node_modules', '.git'])

/** Files for a name: a run, a file, or everything in a folder. */
export function filesToScan(name: string, store: () => RunStore): string[] {
  const found = statSync(name, { throwIfNoEntry: false })
  if (found === undefined) return [store().find(name)]
  return found.isDirectory() ? [...filesIn(name)] : [name]
}

function* filesIn(folder: string): Generator<string> {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const file = path.join(folder, entry.name)
    if (entry.isDirectory()) {
      if (!SKIPPED.has(entry.name)) yield* filesIn(file)
    } else if (entry.isFile()) yield file
  }
}

export interface ScannedFile {
  readonly findings: readonly SecretFinding[]
  /** For people to look at; nothing is refused because of them. */
  readonly possible: readonly SecretFinding[]
  /** Set if it may contain secrets that were not found: the reason. */
  readonly unread?: string
}

/** Searches a tape or any other file. A damaged tape is searched as plain bytes. */
export function scanFile(file: string): ScannedFile {
  if (!file.endsWith('.tape')) return searchBytes(file)
  try {
    const tape = openOwnTape(file)
    const scanned = searchTape(tape)
    const isTorn = tape.tornBytes > 0 && tape.status !== 'sealed' && !isBeingWritten(file)
    if (!isTorn) return scanned
    return { ...scanned, unread: `It ends inside event ${tape.count}.` }
  } catch (error) {
    const scanned = searchBytes(file)
    const code = error instanceof TapeError ? error.code : ''
    // Other programs have text files with this extension, too.
    const isOther = code === 'TAPE_NOT_A_TAPE' && isText(readPart(file, 0, START_BYTES))
    if (isOther || code === 'TAPE_EMPTY') return scanned
    return { ...scanned, unread: error instanceof TapeError ? error.why : reason(error) }
  }
}

export const secretsIn = (file: string): readonly SecretFinding[] => scanFile(file).findings

export function refuseSecrets(files: readonly string[], run: string): void {
  const findings = files.flatMap((file) => secretsOnTape(file))
  const [first] = findings
  if (first)
    throw cliErrors.SECRETS_FOUND(run, findings.length, `${first.where}, event ${first.event}`)
}
