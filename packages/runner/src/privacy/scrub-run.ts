import { copyFileSync, existsSync, mkdirSync } from 'node:fs'
import path from 'node:path'
import type { RunDetails, TapeEvent } from '@retake/tape'
import { openTape } from '@retake/tape/node'
import { cliErrors } from '../errors.js'
import { rewriteLineage } from './mask.js'
import { redactRun, tapeLineage } from './redact-run.js'
import { temporaryFolder } from '../temporary-folder.js'
import { ownSecrets, refuseSecrets } from './find-secrets.js'
import { PersonalData, type PersonalRules, withPseudonyms } from './find-personal-data.js'
import {
  isTrustedRun,
  type Pattern,
  trustedRunsFile,
  trustRecording,
  VaultKey,
} from '@retake/engine/runs'
import { vaultOf, writeVault } from './vault.js'

export interface ScrubOptions extends Partial<PersonalRules> {
  /** Writes the originals beside the copy, encrypted for the owner of the key. */
  readonly vault?: boolean
}

/**
 * Writes copies of the tapes of a run, including ancestors, with placeholders for secrets and
 * pseudonyms for pattern matches. Never changes the originals. The copy has its own digests and
 * names the digest of the original; a replay masks what it compares in the same way. Throws if
 * anything remains.
 */
export function scrubRun(
  file: string,
  folder: string,
  { patterns = [], content = false, vault = false }: ScrubOptions = {},
) {
  const line = tapeLineage(file)
  const wanted = line.map((each) => path.join(folder, path.basename(each)))
  const existing = [...wanted, ...(vault ? [vaultOf(wanted.at(-1) ?? '')] : [])].find(existsSync)
  if (existing !== undefined) throw cliErrors.SCRUB_WOULD_OVERWRITE(existing)
  const key = vault || content || patterns.length > 0 ? VaultKey.ownOrNew() : undefined
  using temporary = temporaryFolder('scrub')
  const tape = openTape(file)
  const { digest } = tape
  const inside = (name: string): string => {
    mkdirSync(path.join(temporary.path, name))
    return path.join(temporary.path, name)
  }
  let files = rewriteLineage(line, inside('secrets'), withoutSecrets(file, digest))
  const kinds: Record<string, number> = {}
  let blanked: readonly string[] = []
  if (key !== undefined) {
    const own = openTape(files.at(-1) ?? '')
    const personal = new PersonalData(own, { patterns, content })
    for (const kind of personal.values.values()) kinds[kind] = (kinds[kind] ?? 0) + 1
    files = rewriteLineage(files, inside('personal'), withPseudonyms(own, personal, key))
    const left = valuesLeft(files.at(-1) ?? '', personal, key)
    if (left.length > 0)
      ({ files, blanked } = redactRun(files.at(-1) ?? '', left, inside('blanked')))
  }
  refuseSecrets(files, tape.run.id)
  mkdirSync(folder, { recursive: true })
  const copy = openTape(files.at(-1) ?? '')
  const sealed = vault && key !== undefined ? vaultOf(wanted.at(-1) ?? '') : undefined
  // The vault comes first, because a copy does not show that its vault is missing.
  if (sealed !== undefined && key !== undefined) writeVault(sealed, { key, copy, originals: line })
  for (const [at, each] of files.entries()) {
    copyFileSync(each, wanted[at] ?? '')
    // A copy starts the same program, so it is trusted where its original is, and only there.
    if (isTrustedRun(openTape(line[at] ?? ''))) trustRecording(each, trustedRunsFile())
  }
  return {
    run: tape.run.id,
    files: wanted,
    original: digest,
    digest: copy.digest,
    ...(key && { pseudonyms: kinds, key: key.id }),
    ...(blanked.length > 0 && { blanked }),
    ...(sealed !== undefined && { vault: sealed }),
  }
}

/** Values that no pseudonym could replace, such as values split by framing; blanked. */
function valuesLeft(file: string, { values, rules }: PersonalData, key: VaultKey): Pattern[] {
  const pseudonyms = new Set([...values].map(([value, kind]) => key.pseudonym(kind, value)))
  const found = new PersonalData(openTape(file), rules)
  return [...found.values.keys()]
    .filter((value) => values.has(value) && !pseudonyms.has(value))
    .map((value) => ({
      name: 'value',
      expression: new RegExp(value.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, String.raw`\$&`), 'g'),
    }))
}

function withoutSecrets(file: string, digest: string): Parameters<typeof rewriteLineage>[2] {
  const mask = ownSecrets()
  const bodies = new Map<number, Uint8Array>()
  const tape = openTape(file)
  for (const event of tape.events(1)) {
    if (event.type === 'seal') continue
    const body = tape.body(event.seq)
    const masked = mask.body(event, body)
    if (masked !== body) bodies.set(event.seq, masked)
  }
  const hidden = <T>(value: T): T => JSON.parse(mask.text(JSON.stringify(value))) as T
  return {
    run: (run) => ({
      ...run,
      name: mask.text(run.name),
    }),
    details: (details) => ({ ...hidden<RunDetails>(details), scrubbedFrom: digest }),
    event: (event) => hidden<TapeEvent>(event),
    body: (seq, body) => bodies.get(seq) ?? body,
  }
}
