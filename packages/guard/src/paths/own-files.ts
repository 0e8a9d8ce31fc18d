import os from 'node:os'
import path from 'node:path'
import { attempt } from '@retake/tape/format'
import { disk, outsideRuns, stateFolder } from '@retake/engine/hook'
import { type Denial, guardErrors } from '../denials/guard-error.js'
import {
  fold,
  foldersAbove,
  foldsCase,
  isBelow,
  resolvePath,
  statOf,
  onSandboxFile,
} from '@retake/runner/sandbox'

/** A file or folder of Retake that no guarded tool may use, whatever its scope allows. */
interface OwnPath {
  /** Absolute, as given and with links resolved at the time of protection. */
  readonly paths: readonly string[]
  readonly folds: boolean
  /** The folder may contain files of the program: only those of Retake are protected. */
  readonly isShared: boolean
  /** Tools may read it, and write to these entries. Undefined: they may do neither. */
  readonly writable?: readonly string[]
  /** Completes "It belongs to …". */
  readonly owner: string
}

const ownPaths = new Map<string, OwnPath>()

const OWN_ENTRY = /\.(?:tape|approvals)(?:\.|$)/

const WORDS_MAX = 20_000

/** Denies a folder or file to guarded tools of this process from now on. */
export function protectOwnFiles(
  location: string,
  owner: string,
  { isShared = false, writable }: { isShared?: boolean; writable?: readonly string[] } = {},
): void {
  const named = path.resolve(location)
  const real = resolvePath(named)?.real ?? named
  const folds = foldsCase(real)
  const paths = [...new Set([named, real])].map((each) => (folds ? fold(each) : each))
  ownPaths.set(named, { paths, folds, isShared, owner, ...(writable && { writable }) })
}

/** Programs that Retake writes for the user, who may work on them with a guarded agent. */
const USERS_PROGRAMS = ['demo', 'sample']

/** Protects tapes, approvals and the state folder of the user. */
export function protectGuard(dir: string | undefined): void {
  const runs = path.join('.retake', 'runs')
  for (const folder of [runs, dir ?? runs]) protectTapes(folder)
  // A sandbox can hide only a folder that exists when it starts.
  outsideRuns(() => {
    const folder = stateFolder()
    // Without it, approvals fail, because the key cannot be stored.
    attempt(() => disk.mkdirSync(folder, { recursive: true, mode: 0o700 }))
  })
  protectOwnFiles(stateFolder(), 'the state of Retake')
}

/** A tape folder outside `.retake` may contain files of the program. */
export function protectTapes(folder: string): void {
  const own = [folder, ...foldersAbove(path.resolve(folder))].find(
    (each) => path.basename(each) === '.retake',
  )
  protectOwnFiles(folder, 'the tapes and approvals of Retake', { isShared: own === undefined })
  // Later commands trust files beside the tapes, such as findings.
  if (own !== undefined) protectOwnFiles(own, 'Retake', { writable: USERS_PROGRAMS })
}

/** Denies access to a protected path. Follows links. */
export function ownFileDenial(access: string, given: string): Denial | undefined {
  if (given === '' || given.includes('\0')) return undefined
  const location = resolvePath(given)
  if (location === undefined) return undefined
  const found = ownerOf(location.real, access) ?? ownerOf(path.resolve(given), access)
  return (
    found &&
    denialOf(
      found,
      `The tool tried to ${access === 'write' ? 'write' : 'read'} ${JSON.stringify(given)}.`,
    )
  )
}

/** Denies removing or renaming a protected path or a folder that contains one. */
export function ownRemovalDenial(given: string): Denial | undefined {
  if (given === '' || given.includes('\0')) return undefined
  const entry = resolvePath(given, { follow: false })?.real
  if (entry === undefined) return undefined
  const found = ownerOf(entry, 'write') ?? protectedBelow(entry)
  return found && denialOf(found, `The tool tried to move or remove ${JSON.stringify(given)}.`)
}

/** Denies a protected path in an argument of a program or in a shell command. */
export function ownWordDenial(text: string, cwd: string): Denial | undefined {
  for (const word of wordsIn(text)) {
    const real = resolvePath(word, { from: cwd })?.real
    if (real === undefined) continue
    const found =
      ownerOf(real) ??
      // Folders further up belong to the program.
      (path.basename(real) === '.retake' ? protectedBelow(real) : undefined)
    if (found !== undefined)
      return denialOf(found, `A program was not started with ${JSON.stringify(word)}.`)
  }
  return undefined
}

/** Protected paths that exist, with links resolved, for the sandbox to hide. */
export const ownLocations = (): readonly string[] => [
  ...new Set(
    [...ownPaths.values()].flatMap(({ paths, isShared, writable }) => {
      if (writable !== undefined) return []
      const real = paths.flatMap((each) => resolvePath(each)?.real ?? [])
      return isShared ? real.flatMap(ownEntriesIn) : real.filter((each) => statOf(each))
    }),
  ),
]

/** Folders that exist and may only be read, with the entries in them that may be written. */
export const ownReadOnly = (): readonly { folder: string; writable: readonly string[] }[] =>
  [...ownPaths.values()].flatMap(({ paths, writable = [] }) =>
    writable.length === 0
      ? []
      : [...new Set(paths.flatMap((each) => resolvePath(each)?.real ?? []))]
          .filter((folder) => statOf(folder) !== undefined)
          .map((folder) => ({
            folder,
            writable: writable
              .map((name) => path.join(folder, name))
              .filter((entry) => statOf(entry)?.isDirectory() === true),
          })),
  )

/** The folder itself if everything in it is protected. Locks are dangling links. */
function ownEntriesIn(folder: string): string[] {
  const entries = attempt(
    () => outsideRuns(() => disk.readdirSync(folder, { withFileTypes: true })),
    [],
  )
  const own = entries.filter(({ name }) => OWN_ENTRY.test(name))
  if (own.length === entries.length) return own.length === 0 ? [] : [folder]
  return own.filter((each) => !each.isSymbolicLink()).map(({ name }) => path.join(folder, name))
}

export const isOwnEntry = (folder: string, name: string): boolean =>
  ownerOf(path.join(folder, name)) !== undefined

function ownerOf(absolute: string, access = 'read'): OwnPath | undefined {
  for (const own of ownPaths.values()) {
    if (own.writable !== undefined && access !== 'write' && access !== 'changed') continue
    const location = own.folds ? fold(absolute) : absolute
    const isOwn = own.paths.some((root) => {
      if (!isBelow(location, root)) return false
      const entry = path.relative(root, location).split(path.sep, 1)[0] ?? ''
      return own.writable?.includes(entry) !== true && (!own.isShared || OWN_ENTRY.test(entry))
    })
    if (isOwn) return own
  }
  return undefined
}

/** The first protected path at or below an entry. */
const protectedBelow = (entry: string): OwnPath | undefined =>
  [...ownPaths.values()].find(({ paths, folds }) =>
    paths.some((root) => isBelow(root, folds ? fold(entry) : entry)),
  )

/** Words that may be paths: parts of the text, values of options, with `~` expanded. */
function wordsIn(text: string): Set<string> {
  const parts = text.split(/[\s'"`;|&<>(){}=,:]+/)
  const values = [text, ...parts.slice(0, WORDS_MAX)].flatMap((part) => [
    part,
    part.replace(/^-{1,2}\w/, ''),
    part.replace(/^~(?=\/)/, () => os.homedir()),
  ])
  return new Set(
    values.filter((word) => word !== '' && word.length <= 4096 && !word.includes('\0')),
  )
}

const denialOf = ({ owner }: OwnPath, what: string): Denial =>
  guardErrors.GUARD_OWN_FILES(what, owner)

onSandboxFile((folder) => protectOwnFiles(folder, 'the sandbox of Retake'))
