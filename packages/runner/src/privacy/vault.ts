import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { isRecord, type Tape, attempt } from '@retake/tape'
import { openTape, replacePrivateFile } from '@retake/tape/node'
import { isStructural, redactionOf, revealedTape, VaultKey } from '@retake/engine/runs'
import { errors } from '@retake/engine/errors'
import { cliErrors } from '../errors.js'
import { rewriteLineage } from './mask.js'
import { tapeLineage } from './redact-run.js'

/**
 * A vault holds the original tapes of a scrubbed copy, sealed with AES-256-GCM:
 *
 *     retake-vault 1\n
 *     {"run", "copy", "key", "nonce", "tag", "bytes"}\n
 *     ciphertext
 *
 * `copy` is the digest of the copy that it belongs to. Both lines except for the tag are
 * authenticated, so a vault cannot be moved to another copy. Contains the original files, because
 * restoring tapes from a list of values would not give the same bytes.
 */
const MAGIC = 'retake-vault 1'

interface VaultHead {
  readonly run: string
  readonly copy: string
  readonly key: string
  readonly nonce: string
  readonly bytes: number
}

export const vaultOf = (tape: string): string => tape.replace(/(?:\.tape)?$/, '.vault')

/** Writes the vault of a copy; whole or not at all. */
export function writeVault(
  file: string,
  { key, copy, originals }: { key: VaultKey; copy: Tape; originals: readonly string[] },
): void {
  const contents = originals.map((each) => readFileSync(each))
  const list = originals.map((each, at) => [path.basename(each), contents[at]?.length])
  const plain = gzipSync(Buffer.concat([Buffer.from(`${JSON.stringify(list)}\n`), ...contents]))
  const nonce = randomBytes(12)
  const head: VaultHead = {
    run: copy.run.id,
    copy: copy.digest,
    key: key.id,
    nonce: nonce.toString('base64'),
    bytes: plain.length,
  }
  const cipher = createCipheriv('aes-256-gcm', key.derive('vault'), nonce)
  cipher.setAAD(authenticated(head))
  const sealed = Buffer.concat([cipher.update(plain), cipher.final()])
  const tag = cipher.getAuthTag().toString('base64')
  const start = Buffer.from(`${MAGIC}\n${JSON.stringify({ ...head, tag })}\n`)
  replacePrivateFile(file, Buffer.concat([start, sealed]), { flush: true })
}

const authenticated = ({ run, copy, key, nonce, bytes }: VaultHead): Buffer =>
  Buffer.from(`${MAGIC}\n${JSON.stringify([run, copy, key, nonce, bytes])}`)

/** Throws `VAULT_DAMAGED`. */
function readVault(file: string): VaultHead & { readonly tag: string; readonly sealed: Buffer } {
  const all = readFileSync(file)
  const first = all.indexOf('\n')
  const second = all.indexOf('\n', first + 1)
  const head: unknown = attempt(
    () => JSON.parse(all.toString('utf8', first + 1, second)) as unknown,
  )
  const isWhole = all.toString('latin1', 0, Math.max(0, first)) === MAGIC && isRecord(head)
  const { run, copy, key, nonce, tag, bytes } = isWhole ? head : {}
  const texts = [run, copy, key, nonce, tag]
  if (!texts.every((each) => typeof each === 'string') || typeof bytes !== 'number')
    throw cliErrors.VAULT_DAMAGED(
      file,
      'It does not start like a vault: it was copied incompletely, or it is another file.',
    )
  const sealed = all.subarray(second + 1)
  if (sealed.length !== bytes)
    throw cliErrors.VAULT_DAMAGED(
      file,
      `It has ${sealed.length} of ${bytes} bytes: it was copied incompletely.`,
    )
  return { run, copy, key, nonce, tag, bytes, sealed } as ReturnType<typeof readVault>
}

/** The original tapes of a copy, the run's own last. Throws a separate error for each problem. */
function openVault(copy: Tape, key: VaultKey): { name: string; bytes: Buffer }[] {
  const file = vaultOf(copy.path)
  const { tag, sealed, ...head } = readVault(file)
  if (head.copy !== copy.digest) throw cliErrors.VAULT_OF_ANOTHER_TAPE(file, copy.run.id)
  if (head.key !== key.id) throw errors.VAULT_KEY_WRONG(file, head.key, key.id)
  let plain: Buffer
  try {
    const nonce = Buffer.from(head.nonce, 'base64')
    const decipher = createDecipheriv('aes-256-gcm', key.derive('vault'), nonce)
    decipher.setAAD(authenticated(head))
    decipher.setAuthTag(Buffer.from(tag, 'base64'))
    plain = gunzipSync(Buffer.concat([decipher.update(sealed), decipher.final()]))
  } catch {
    throw cliErrors.VAULT_DAMAGED(file, 'Its content was changed.')
  }
  const end = plain.indexOf('\n')
  const list = JSON.parse(plain.toString('utf8', 0, end)) as [name: string, size: number][]
  let at = end + 1
  return list.map(([name, size]) => ({ name, bytes: plain.subarray(at, (at += size)) }))
}

/** Paths in a folder for files of these names. Throws `SCRUB_WOULD_OVERWRITE`. */
function newFiles(folder: string, names: readonly string[]): string[] {
  const files = names.map((name) => path.join(folder, path.basename(name)))
  const existing = files.find((file) => existsSync(file))
  if (existing !== undefined) throw cliErrors.SCRUB_WOULD_OVERWRITE(existing)
  mkdirSync(folder, { recursive: true })
  return files
}

/** Writes the originals of a scrubbed copy into a folder; returns the files. */
export function restoreOriginal(copy: Tape, folder: string): string[] {
  const { redaction, pseudonymKey } = copy.details
  // A scrubbed copy of a redacted run has lost its own encrypted values; its vault has them.
  if (redaction !== undefined && pseudonymKey === undefined) return restoreRedacted(copy, folder)
  if (!existsSync(vaultOf(copy.path)))
    throw cliErrors.VAULT_MISSING(vaultOf(copy.path), copy.run.id)
  const key = VaultKey.own()
  if (key === undefined) {
    // Reports a damaged vault before a missing key.
    readVault(vaultOf(copy.path))
    throw cliErrors.VAULT_KEY_MISSING(copy.run.id, pseudonymKey ?? '')
  }
  const originals = openVault(copy, key)
  const files = newFiles(
    folder,
    originals.map(({ name }) => name),
  )
  for (const [at, file] of files.entries())
    writeFileSync(file, originals[at]?.bytes ?? '', { mode: 0o600, flag: 'wx' })
  return files
}

/**
 * Writes the tapes of a redacted run with its original values. They still name the key, which a
 * replay needs for digests.
 */
function restoreRedacted(tape: Tape, folder: string): string[] {
  const redaction = redactionOf(revealedTape(tape))
  if (redaction === undefined)
    throw cliErrors.VAULT_KEY_MISSING(tape.run.id, tape.details.redaction?.key ?? '')
  const line = tapeLineage(tape.path)
  newFiles(folder, line)
  return rewriteLineage(line, folder, {
    run: (run) => run,
    details: (details) => redaction.reveal(details),
    event: (event) => (event.type === 'note' ? event : redaction.reveal(event)),
    body: (seq) => (seq === 0 ? EMPTY : redaction.body(seq)),
  })
}

const EMPTY = new Uint8Array()

/** A tape that a replay can use, and what to say about it. */
interface ReplayableTape {
  readonly tape: Tape
  /** Set for a copy with pseudonyms. */
  readonly note?: string
}

/**
 * The original of a scrubbed copy, restored into `folder`, if its vault and the key are available.
 * Otherwise the copy, which gives the program pseudonyms. Throws for a damaged vault, the vault of
 * another tape, or a wrong key in the environment.
 */
export function originalOf(copy: Tape, folder: string): ReplayableTape {
  const { pseudonymKey } = copy.details
  if (pseudonymKey === undefined) return revealed(copy)
  const vault = vaultOf(copy.path)
  if (!existsSync(vault)) return structureOf(copy, 'scrubbed copy · no vault')
  const key = VaultKey.own()
  const head = readVault(vault)
  const isOther = head.copy === copy.digest && head.key !== key?.id && !key?.isGiven
  if (key === undefined || isOther) return structureOf(copy, `scrubbed copy · no key ${head.key}`)
  const original = openTape(restoreOriginal(copy, folder).at(-1) ?? '')
  const note = 'scrubbed copy · the vault was opened: this is the original'
  return { note, ...revealed(original) }
}

/** A redacted run with its original values, if this user has the key. */
function revealed(tape: Tape): ReplayableTape {
  const { redaction } = tape.details
  if (redaction === undefined) return { tape }
  const opened = revealedTape(tape)
  if (isStructural(opened)) return structureOf(tape, `redacted run · no key ${redaction.key}`)
  return { tape: opened, note: 'redacted run · its personal data was opened' }
}

const structureOf = (tape: Tape, why: string): ReplayableTape => ({
  tape,
  note: `${why}: the program gets pseudonyms for personal data, so this compares structure, not the original values`,
})
