import { isUtf8 } from 'node:buffer'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import { containsSecret, SecretMask } from '@retake/engine/runs'
import { maskKeys, reason, type Tape, TapeError } from '@retake/tape'
import { isBeingWritten, openOwnTape } from '@retake/tape/node'
import { cliErrors } from '../errors.js'
import type { RunStore } from '../runs/run-store.js'

/** Something that looks like a secret. Never contains the secret itself. */
export interface SecretFinding {
  /**
   * `variable`: the value of a secret variable of this process. `key`: a known shape. `value`:
   * encoded, or random after a name.
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
} as const
export type SecretRule = keyof typeof SECRET_RULES

/** A recording's mask with the secrets of this process. */
export function ownSecrets(): SecretMask {
  const mask = new SecretMask()
  mask.addEnvironment(process.env)
  return mask
}

/** Secrets anywhere on a tape, without its ancestors, which are other files. */
export const secretsOnTape = (file: string): SecretFinding[] => searchTape(openOwnTape(file))

function searchTape(tape: Tape): SecretFinding[] {
  const file = tape.path
  const mask = ownSecrets()
  const findings: SecretFinding[] = []
  const look = (event: number, where: string, before: string, after: string): void => {
    if (before !== after) findings.push({ rule: ruleOf(before), file, event, where })
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
    if (masked !== body) look(event.seq, `${event.type} body`, latin1(body), latin1(masked))
  }
  return findings
}

/** Signed runs have a random salt in each event, which looks like a secret. */
const SALT = /,"salt":"[\w-]{22}"(?=\}$)/

const latin1 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('latin1')

/** Secrets in a file that is not a tape, line by line. */
function secretsInFile(file: string): SecretFinding[] {
  const bytes = readFileSync(file)
  const text = latin1(bytes)
  const masked = latin1(ownSecrets().body({ type: 'result', op: 0 }, bytes))
  if (masked === text) return []
  const [before, after] = [text.split('\n'), masked.split('\n')]
  // In compressed or changed content, lines do not correspond.
  if (before.length !== after.length || bytes.includes(0))
    return [{ rule: ruleOf(text), file, where: 'content' }]
  return before.flatMap((line, at) => {
    const hidden = after[at] ?? ''
    if (line === hidden) return []
    return [{ rule: ruleOf(line), file, where: `line ${at + 1}`, line: at + 1 }]
  })
}

function ruleOf(before: string): SecretRule {
  const isVariable = Object.entries(process.env).some(
    ([name, value = '']) =>
      value.length >= 8 && containsSecret(name, value) && before.includes(value),
  )
  if (isVariable) return 'variable'
  return maskKeys(before) === before ? 'value' : 'key'
}

/** Larger files are searched only if they are tapes. */
const FILE_BYTES_MAX = 64 << 20
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
  /** Set for a tape that may contain secrets that were not found. */
  readonly unread?: string
}

/** Searches a tape or any other file. A damaged tape is searched as plain bytes. */
export function scanFile(file: string): ScannedFile {
  if (!file.endsWith('.tape')) return { findings: searchBytes(file) }
  try {
    const tape = openOwnTape(file)
    const findings = searchTape(tape)
    const isTorn = tape.tornBytes > 0 && tape.status !== 'sealed' && !isBeingWritten(file)
    if (!isTorn) return { findings }
    return { findings, unread: `It ends inside event ${tape.count}.` }
  } catch (error) {
    const findings = searchBytes(file)
    const code = error instanceof TapeError ? error.code : ''
    const isText = code === 'TAPE_NOT_A_TAPE' && isUtf8(readFileSync(file))
    // Other programs have text files with this extension, too.
    if (isText || code === 'TAPE_EMPTY') return { findings }
    return { findings, unread: error instanceof TapeError ? error.why : reason(error) }
  }
}

export const secretsIn = (file: string): readonly SecretFinding[] => scanFile(file).findings

const searchBytes = (file: string): SecretFinding[] =>
  statSync(file).size > FILE_BYTES_MAX ? [] : secretsInFile(file)

export function refuseSecrets(files: readonly string[], run: string): void {
  const findings = files.flatMap((file) => secretsOnTape(file))
  const [first] = findings
  if (first)
    throw cliErrors.SECRETS_FOUND(run, findings.length, `${first.where}, event ${first.event}`)
}
