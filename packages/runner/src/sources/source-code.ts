import { foldersUp } from '../package-root.js'
import { attempt } from '@retake/tape/format'
import { defined } from '@retake/tape'
import { existsSync, readFileSync, realpathSync, statSync } from 'node:fs'
import module from 'node:module'
import path from 'node:path'
import type { MovedRoot } from '@retake/engine'
import type { SourceList, Tape } from '@retake/tape'
import { fromHere, painter } from '../terminal/terminal.js'
import { usesDecorators } from '../typescript/compile-decorators.js'
import { aliasTargets, forgetAliases, starMatch } from '../typescript/path-aliases.js'
import { createHash } from 'node:crypto'
import { changedLinks, changedSettings, SETTINGS } from './code-loading.js'
import { CONTENT_BYTES_MAX, shaOf, sourceListOf } from './source-store.js'

/** Specifiers of `import … from`, `export … from`, `import()`, `require()`, and their `resolve()`. */
const IMPORT =
  /(?:\bfrom|\bimport(?:\.meta\.resolve)?|\brequire(?:\.resolve)?)\s*\(?\s*(['"])([^'"\n]+)\1/g
/** Files of threads and processes: `new URL('./worker.mjs', import.meta.url)`. */
const URL_OF_FILE = /\bnew\s+URL\s*\(\s*(['"])([^'":\n]+)\1\s*,\s*import\.meta\.url\b/g
/** The same, relative to the working directory. */
const STARTED_FILE = /\b(?:new\s+Worker|fork)\s*\(\s*(['"])(\.{0,2}\/[^'"\n]+)\1/g
/** Texts that a module reads: `readFileSync('prompts/system.md')`. */
const READ_FILE = /\breadFile(?:Sync)?\s*\(\s*(['"])([^'":\n]+)\1/g
/** Splits the specifier of a package into its name and the path inside of it. */
const PACKAGE = /^((?:@[\w.-]+\/)?(?!node:)[a-z][\w.-]*)(?:\/(.*))?$/
/** Retake is not part of an agent, even if it is linked from a clone. */
const OWN_PACKAGE = /^(?:retake$|@retake\/)/
const CODE = /\.[cm]?[jt]sx?$/
const TEXT =
  /\.(?:md|txt|json|ya?ml|toml|xml|html|csv|sql|graphql|prompt|tmpl|hbs|mustache|liquid|ejs|njk|j2)$/
/** Larger files are data. */
const TEXT_BYTES_MAX = 256 * 1024
/** Suffixes that imports may omit or spell differently. */
const ENDINGS = ['', '.js', '.ts', '.mjs', '.cjs', '.json', '/index.js', '/index.ts']

/**
 * Digest of these files and all files of your own that they import, directly or indirectly: by
 * relative path, by an alias of tsconfig.json or package.json, or as a package of the workspace.
 * Missing files do not count. Excludes installed packages, and paths computed at run time.
 * `copy`: reads the recorded code from there; unchanged code has the same digest without it.
 */
export function hashOfCode(
  files: Iterable<string>,
  copy?: { readonly root: MovedRoot; fileOf(file: string): string | undefined },
): string {
  const hash = createHash('sha256')
  const { recorded, current } = copy?.root ?? { recorded: '', current: '' }
  const read = [...files].map((file) => copy?.fileOf(path.resolve(file)) ?? file)
  for (const [file, bytes] of reachableCode(read)) {
    const isInCopy = copy !== undefined && file.startsWith(current + path.sep)
    const name = isInCopy ? recorded + file.slice(current.length) : file
    hash.update(`${name}\0${bytes.length}\0`).update(bytes)
  }
  return hash.digest('hex')
}

/** More files would make the start of a program slow. */
const FILES_MAX = 2000

/** The code that a program consists of, and the contents of its files by their digest. */
export interface ProgramCode {
  readonly list: SourceList
  readonly contents: ReadonlyMap<string, Buffer>
  /** Files that are not included because of their size. */
  readonly tooLarge: readonly string[]
  /** All paths that decided this, also those without a file; undefined if others may have, too. */
  readonly reads?: ReadonlySet<string>
}

/** Paths that the code which is being read depends on. */
let reads: Set<string> | undefined

interface ReadOptions {
  /**
   * Includes texts that modules read by a literal name, such as prompts, because a function run
   * does not record what was read when its module was loaded.
   */
  readonly withTexts?: boolean
}

export function readCode(
  entry: string,
  cwd = process.cwd(),
  options: ReadOptions = {},
): ProgramCode {
  forgetAliases()
  reads = new Set()
  try {
    return { ...readProgram(entry, cwd, options), ...(reads && { reads }) }
  } finally {
    reads = undefined
  }
}

function noted(file: string): string {
  reads?.add(file)
  return file
}

function readProgram(entry: string, cwd: string, { withTexts = false }: ReadOptions): ProgramCode {
  const files: Record<string, string> = {}
  const packages: Record<string, string> = {}
  const contents = new Map<string, Buffer>()
  const folders = new Set<string>()
  const tooLarge: string[] = []
  const mapped: string[] = []
  const texts: string[] = []
  const followed = new Map<string, string>()
  let count = 0
  for (const [file, bytes] of reachableCode([entry], tooLarge, followed)) {
    const sha = shaOf(bytes)
    files[path.relative(cwd, file)] = sha
    contents.set(sha, bytes)
    for (const folder of foldersUp(path.dirname(file))) {
      if (folders.has(folder)) break
      folders.add(folder)
    }
    if (CODE.test(file)) {
      const text = bytes.toString()
      for (const specifier of specifiersIn(text)) {
        const [, name] = PACKAGE.exec(specifier) ?? []
        if (name !== undefined) packages[name] ??= versionOf(name, file) ?? ''
      }
      // Nothing else of TypeScript is compiled by the version that is installed.
      if (/\.[cm]?ts$/.test(file) && usesDecorators(text))
        packages['typescript'] ??= versionOf('typescript', file) ?? ''
      mapped.push(...mapOf(file, text))
      if (withTexts) texts.push(...textsReadBy(file, text, cwd))
    }
    if (++count >= FILES_MAX) break
  }
  // Without their contents, so this code is not run again, rather than with today's file.
  for (const file of tooLarge) {
    const sha = shaOfFile(file)
    if (sha !== undefined) files[path.relative(cwd, file)] = sha
  }
  const settings: Record<string, string> = {}
  const addSetting = (file: string): void => {
    const name = path.relative(cwd, file)
    const bytes = name in files || name in settings ? undefined : contentOf(file)
    if (bytes === undefined) return
    const sha = shaOf(bytes)
    settings[name] = sha
    contents.set(sha, bytes)
  }
  const projects = projectFolders(folders)
  for (const folder of projects) for (const name of SETTINGS) addSetting(path.join(folder, name))
  const top = projects.toSorted((a, b) => a.length - b.length)[0] ?? cwd
  // A map may name files anywhere, also those of packages in a bundle.
  const isOwn = (file: string): boolean =>
    file.startsWith(top + path.sep) && !/[\\/]node_modules[\\/]/.test(file)
  const relative = (file: string): string => path.relative(cwd, file)
  const links = [...followed].filter((each) => each.every(isOwn)).map((each) => each.map(relative))
  for (const file of [...mapped, ...texts].filter(isOwn)) {
    if (++count > FILES_MAX) break
    addSetting(file)
  }
  const installed = Object.entries(packages).filter(([, version]) => version !== '')
  const list = {
    files,
    packages: Object.fromEntries(installed),
    settings,
    ...(links.length > 0 && { links: Object.fromEntries(links) as Record<string, string> }),
  }
  return { list, contents, tooLarge }
}

/** The source map of a compiled file, and the sources that it names. */
function mapOf(file: string, code: string): string[] {
  const at = code.lastIndexOf('//# sourceMappingURL=')
  const [, url = ''] = at < 0 ? [] : (/=(\S+)/.exec(code.slice(at)) ?? [])
  if (url === '') return []
  const inline = /^data:application\/json[^,]*;base64,(.*)$/s.exec(url)?.[1]
  const mapFile =
    inline === undefined
      ? path.resolve(
          path.dirname(file),
          attempt(() => decodeURI(url), url),
        )
      : file
  const text =
    inline === undefined ? contentOf(mapFile)?.toString() : Buffer.from(inline, 'base64').toString()
  const map = attempt(() => JSON.parse(text ?? '') as Partial<SourceMap> | null) ?? undefined
  if (map === undefined) return []
  const { sources, sourceRoot = '' } = map
  const names = Array.isArray(sources) ? sources.filter((name) => typeof name === 'string') : []
  return [
    ...(inline === undefined ? [mapFile] : []),
    ...names
      .filter((name) => !/^\w{2,}:/.test(name))
      .map((name) => path.resolve(path.dirname(mapFile), String(sourceRoot), name)),
  ]
}

interface SourceMap {
  readonly sources: readonly unknown[]
  readonly sourceRoot: unknown
}

/** Folders with code, and those above them up to the outermost one with a package.json. */
function projectFolders(folders: ReadonlySet<string>): string[] {
  const manifests = [...folders].filter((folder) =>
    existsSync(noted(path.join(folder, 'package.json'))),
  )
  return [...folders].filter((folder) =>
    manifests.some((each) => folder === each || folder.startsWith(each + path.sep)),
  )
}

function versionOf(name: string, file: string): string | undefined {
  const folder = folderOfPackage(name, file)
  return folder === undefined ? undefined : manifestIn(folder)?.version
}

/** The package that an import in a file means, if it is installed. */
function folderOfPackage(name: string, file: string): string | undefined {
  // Yarn Plug'n'Play has no node_modules.
  const { findPnpApi } = module as { findPnpApi?: (file: string) => PlugAndPlay | null }
  const plugAndPlay = findPnpApi?.(file)
  // Files in archives have no times of their own.
  if (plugAndPlay) reads = undefined
  if (plugAndPlay) return attempt(() => plugAndPlay.resolveToUnqualified(name, file) ?? undefined)
  const folder = foldersUp(path.dirname(file))
    .map((each) => path.join(each, 'node_modules', name))
    .find((each) => existsSync(noted(path.join(each, 'package.json'))))
  return folder && realpathSync(folder)
}

interface PlugAndPlay {
  resolveToUnqualified(name: string, file: string): string | null
}

/**
 * Adds to `tooLarge` the files that are not read because of their size, and to `followed` the links
 * with the files that they lead to.
 */
function* reachableCode(
  files: Iterable<string>,
  tooLarge: string[] = [],
  followed = new Map<string, string>(),
): Generator<readonly [string, Buffer]> {
  const seen = new Set<string>()
  const waiting = [...files].map((file) => path.resolve(file))
  for (let file = waiting.shift(); file !== undefined; file = waiting.shift()) {
    if (seen.has(file)) continue
    seen.add(file)
    const bytes = contentOf(file, tooLarge)
    if (bytes === undefined) continue
    // Like Node, which resolves imports from the file that a link leads to.
    const real = noted(realpathSync.native(file))
    if (real !== file) followed.set(file, real)
    if (real !== file && seen.has(real)) continue
    seen.add(real)
    yield [real, bytes]
    if (!CODE.test(real)) continue
    const code = bytes.toString()
    waiting.push(...importedBy(real, code), ...startedBy(real, code))
  }
}

const specifiersIn = (code: string): string[] => matchesIn(code, IMPORT)
const matchesIn = (code: string, pattern: RegExp): string[] =>
  [...code.matchAll(pattern)].map(([, , text = '']) => text)

/** Paths that the imports of a file may mean, in installed packages none. */
function importedBy(file: string, code: string): string[] {
  return specifiersIn(code).flatMap((specifier) => {
    const targets = /^\.{1,2}\//.test(specifier)
      ? [path.resolve(path.dirname(file), specifier)]
      : specifier.startsWith('#')
        ? importsOfPackage(specifier, file)
        : [...aliasTargets(specifier, file, noted), ...modulesOfWorkspace(specifier, file)]
    return targets.flatMap((target) => [
      ...(isFile(target) ? [target] : ENDINGS.map((ending) => target + ending)),
      target.replace(/\.([cm]?)js$/, '.$1ts'),
    ])
  })
}

/** Programs of threads and processes. Other files with such a URL are data. */
const startedBy = (file: string, code: string): string[] =>
  [
    ...matchesIn(code, URL_OF_FILE).map((name) => path.resolve(path.dirname(file), name)),
    ...matchesIn(code, STARTED_FILE).map((name) => path.resolve(name)),
  ].filter((each) => CODE.test(each))

/** Texts with a literal name, relative to the module or to the working directory. */
const textsReadBy = (file: string, code: string, cwd: string): string[] =>
  [
    ...matchesIn(code, URL_OF_FILE).map((name) => path.resolve(path.dirname(file), name)),
    ...matchesIn(code, READ_FILE).map((name) => path.resolve(cwd, name)),
  ].filter((each) => {
    const found = TEXT.test(each) ? statSync(noted(each), { throwIfNoEntry: false }) : undefined
    return found?.isFile() === true && found.size <= TEXT_BYTES_MAX
  })

interface Manifest {
  readonly version?: string
  readonly main?: string
  readonly exports?: unknown
  readonly imports?: unknown
}

const manifestIn = (folder: string): Manifest | undefined =>
  attempt(
    () => JSON.parse(readFileSync(noted(path.join(folder, 'package.json')), 'utf8')) as Manifest,
  )

/** Targets of a name such as `#lib/prices`, from `imports` of the nearest package.json. */
function importsOfPackage(specifier: string, file: string): string[] {
  for (const folder of foldersUp(path.dirname(file))) {
    const manifest = manifestIn(folder)
    if (manifest !== undefined) return targetsIn(folder, manifest.imports, specifier)
  }
  return []
}

/** Modules of a package that is part of the workspace: only a link to it is installed. */
function modulesOfWorkspace(specifier: string, file: string): string[] {
  const [, name, inside] = PACKAGE.exec(specifier) ?? []
  if (name === undefined || OWN_PACKAGE.test(name)) return []
  const root = folderOfPackage(name, file)
  if (root === undefined || /[\\/]node_modules[\\/]|\.zip[\\/]/.test(root)) return []
  const { exports, main = 'index' } = manifestIn(root) ?? {}
  if (exports === undefined) return [path.join(root, inside ?? main)]
  const subpath = inside === undefined ? '.' : `./${inside}`
  const isOnlyRoot =
    typeof exports !== 'object' || !Object.keys(exports ?? {}).some((key) => key.startsWith('.'))
  return targetsIn(root, isOnlyRoot ? { '.': exports } : exports, subpath)
}

/** Files that `exports` or `imports` of a manifest have for a name, under all conditions. */
function targetsIn(folder: string, table: unknown, name: string): string[] {
  return Object.entries(table ?? {}).flatMap(([pattern, target]) => {
    const star = starMatch(pattern, name)
    if (star === undefined) return []
    return leavesOf(target).map((leaf) =>
      path.join(
        folder,
        leaf.replaceAll('*', () => star),
      ),
    )
  })
}

const leavesOf = (value: unknown): string[] =>
  typeof value === 'string' ? [value] : Object.values(value ?? {}).flatMap(leavesOf)

const isFile = (file: string): boolean =>
  attempt(() => statSync(noted(file), { throwIfNoEntry: false })?.isFile()) === true

const shaOfFile = (file: string): string | undefined => attempt(() => shaOf(readFileSync(file)))

const contentOf = (file: string, tooLarge: string[] = []): Buffer | undefined =>
  attempt(() => {
    const found = statSync(noted(file), { throwIfNoEntry: false })
    if (found?.isFile() !== true) return undefined
    if (found.size <= CONTENT_BYTES_MAX) return readFileSync(file)
    tooLarge.push(file)
    return undefined
  })

/**
 * The file that a run was started with, relative to its working directory. For a run of `record()`,
 * the module of its entry and the called export.
 */
export function entryOf({
  run: { scope },
  details: { entry },
}: {
  readonly run: Pick<Tape['run'], 'scope'>
  readonly details: Pick<Tape['details'], 'entry'>
}): { readonly file: string; readonly name?: string } | undefined {
  if (entry === undefined) return undefined
  if (scope === 'process') return { file: entry }
  const [, file = entry, name = 'default'] = /^(.*?)(?:#(.*))?$/s.exec(entry) ?? []
  return { file, name }
}

export function whyNotRunAgain(tape: Tape): string | undefined {
  if (tape.details.entry !== undefined) return undefined
  if (tape.details.imported !== undefined) return 'imported: it is not a recording'
  return tape.run.scope === 'function'
    ? 'recorded by record() without `entry`: replay it in your test'
    : 'not a Node program: its code cannot be run from here'
}

/** Source files that the tape knows of: the entry, and those that started something. */
export function sourceFiles(tape: Tape): string[] {
  const { cwd = '.' } = tape.details
  const entry = entryOf(tape)
  const files = new Set(entry === undefined ? [] : [path.resolve(cwd, entry.file)])
  for (const event of tape.events()) {
    const site = 'site' in event ? event.site : undefined
    const file = site?.replace(/:\d+:\d+$/, '')
    if (file !== undefined) files.add(path.resolve(cwd, file))
  }
  return [...files]
}

/**
 * Files of the agent that differ from the recorded code. Without the list of that
 * code, every file saved after the run began.
 */
export function changedSources(tape: Tape, root = movedHere(tape)): string[] {
  const { cwd = '.' } = tape.details
  const list = sourceListOf(tape)
  if (list !== undefined) {
    const here = (file: string): string => path.resolve(root?.current ?? cwd, file)
    const changed = [...Object.entries(list.files), ...mappedSources(list)].filter(
      ([file, sha]) => shaOfFile(here(file)) !== sha,
    )
    return [
      ...changed.map(([file]) => here(file)),
      ...changedLinks(list, here),
      ...changedSettings(tape, list, here),
    ]
  }
  const { startedAt } = tape.run
  const entry = entryOf(tape)
  const today = entry === undefined ? [] : reachableCode([fileHere(cwd, entry.file, root)])
  const files = new Set([...sourceFiles(tape), ...Array.from(today, ([file]) => file)])
  return [...files].filter((file) => {
    const found = statSync(file, { throwIfNoEntry: false })
    return found !== undefined && found.mtimeMs > startedAt
  })
}

/** Sources of compiled files, whose lines are shown, and texts that modules read. */
const mappedSources = ({ settings }: SourceList): [file: string, sha: string][] =>
  Object.entries(settings).filter(
    ([file]) => !file.endsWith('.map') && !SETTINGS.includes(path.basename(file)),
  )

/** A package with another version, or that only one side has. */
export interface PackageChange {
  readonly name: string
  readonly before?: string
  readonly after?: string
}

/** Imported packages of which another version is installed than when the run was recorded. */
export function packageChanges(tape: Tape, root = movedHere(tape)): PackageChange[] {
  const { cwd = '.' } = tape.details
  const entry = entryOf(tape)
  const list = sourceListOf(tape)
  if (list === undefined || entry === undefined) return []
  // Packages of a workspace have dependencies of their own.
  const importers = [entry.file, ...Object.keys(list.files)].map((file) =>
    fileHere(cwd, file, root),
  )
  const perFolder = [...new Map(importers.map((file) => [path.dirname(file), file])).values()]
  return Object.entries(list.packages).flatMap(([name, before]) => {
    const versions = perFolder.flatMap((file) => versionOf(name, file) ?? [])
    return versions.includes(before) ? [] : [defined({ name, before, after: versions[0] })]
  })
}

export const packageChangeText = ({ name, before, after }: PackageChange): string =>
  `${name} ${before ?? 'not imported'} → ${after ?? 'not installed'}`

/** Warns on stderr that the shown lines and variables are those of today's code. */
export function warnOfChangedSources(tape: Tape): void {
  const changed = changedSources(tape)
  if (changed.length === 0) return
  const names = changed.map(fromHere).join(', ')
  const note = painter(process.stderr)('yellow', 'note')
  process.stderr.write(
    `${note}  changed since the recording: ${names}\n` +
      '      The current lines are shown. A replay stops where it differs from the tape.\n',
  )
}

/**
 * The working directory, if this machine does not have the recorded folder but the recorded program
 * is here. This way, a tape from another machine replays in a checkout at any path.
 */
export function movedHere(tape: Tape): MovedRoot | undefined {
  const { cwd } = tape.details
  const entry = entryOf(tape)
  if (cwd === undefined || entry === undefined || existsSync(cwd)) return undefined
  const current = process.cwd()
  const moved = { recorded: cwd, current }
  return existsSync(fileHere(cwd, entry.file, moved)) ? moved : undefined
}

/** A file of a recorded program, in the folder that replaces the recorded one. */
export const fileHere = (cwd: string, file: string, moved: MovedRoot | undefined): string =>
  path.resolve(moved?.current ?? cwd, path.relative(cwd, path.resolve(cwd, file)))
