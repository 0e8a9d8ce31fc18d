import { readFileSync, realpathSync } from 'node:fs'
import path from 'node:path'
import { attempt, recordOf, type SourceList, type Tape } from '@retake/tape/format'
import { foldersUp } from '../package-root.js'
import { shaOf, storedContent } from './source-store.js'

/** Files that decide how code is loaded. */
export const SETTINGS = [
  'package.json',
  'tsconfig.json',
  'package-lock.json',
  'npm-shrinkwrap.json',
  'pnpm-lock.yaml',
  'pnpm-workspace.yaml',
  'yarn.lock',
  'bun.lock',
]

/**
 * Files that load the same code in another way than when the run was recorded: tsconfig.json, and
 * package.json if more than its dependencies or scripts changed. Packages are compared by version.
 * `here`: where a file of the code is today.
 */
export function changedSettings(
  tape: Tape,
  code: SourceList,
  here: (file: string) => string,
): string[] {
  const { settings } = code
  if (settings === undefined) return []
  const changed = Object.entries(settings).filter(([file, sha]) => {
    const name = path.basename(file)
    if (name !== 'package.json' && name !== 'tsconfig.json') return false
    const today = attempt(() => readFileSync(here(file)))
    if (today !== undefined && shaOf(today) === sha) return false
    if (name === 'tsconfig.json') return true
    const recorded = storedContent(tape, sha)
    return recorded !== undefined && membersOf(recorded, LOADING) !== membersOf(today, LOADING)
  })
  const added = foldersOfCode(code)
    .map((folder) => path.join(folder, 'package.json'))
    .filter((file) => !(file in settings))
    .filter((file) => {
      const today = attempt(() => readFileSync(here(file)))
      return membersOf(today, LOADING_INSIDE) !== membersOf(undefined, LOADING_INSIDE)
    })
  return [...changed.map(([file]) => file), ...added].map(here)
}

/** Folders of source files, and those above them in the working directory. */
function foldersOfCode({ files }: SourceList): string[] {
  const folders = new Set<string>()
  for (const folder of Object.keys(files).map((file) => path.dirname(file))) {
    folders.add(folder)
    if (!folder.startsWith('..') && !path.isAbsolute(folder))
      for (const above of foldersUp(folder)) folders.add(above)
  }
  return [...folders]
}

/** The members of package.json by which Node loads files inside of its folder. */
const LOADING_INSIDE = ['type', 'imports']
/** And those by which other packages of a workspace find them. */
const LOADING = [...LOADING_INSIDE, 'main', 'exports']

function membersOf(manifest: Buffer | undefined, names: readonly string[]): string {
  const read = (): unknown => JSON.parse(manifest?.toString() ?? '{}')
  const members = recordOf(attempt(read))
  return JSON.stringify(names.map((name) => members[name]))
}

/** Links that lead to another file than when the run was recorded. */
export const changedLinks = (
  { links = {} }: SourceList,
  here: (file: string) => string,
): string[] =>
  Object.entries(links)
    .filter(
      ([link, target]) =>
        attempt(() => realpathSync(here(link))) !== attempt(() => realpathSync(here(target)), ''),
    )
    .map(([link]) => here(link))

/**
 * True if a file of today would be loaded instead of a recorded one, because loaders look for its
 * name first: `lib.ts` where an import says `lib.js`, `lib.js` where there was `lib/index.js`, or a
 * package.json that was not there. `names`: recorded files and folders beside it.
 */
export function replacesRecorded(name: string, names: ReadonlySet<string>): boolean {
  if (names.has(name)) return false
  if (name === 'package.json') return true
  const stem = stemOf(name)
  return stem !== undefined && [...names].some((each) => each === stem || stemOf(each) === stem)
}

const stemOf = (name: string): string | undefined => /^(.+)\.[cm]?[jt]sx?$/.exec(name)?.[1]
