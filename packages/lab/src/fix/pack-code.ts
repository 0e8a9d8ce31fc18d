import { spawnSync } from 'node:child_process'
import {
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'
import { openTape } from '@retake/tape/node'
import { movedHere } from '@retake/runner/agent'
import { attempt, type Tape } from '@retake/tape/format'
import { cliErrors } from '@retake/runner/errors'
import { AgentProject, SECRET_FILE, SKIPPED } from './project-copy.js'
import { foldersUp } from '@retake/runner/package-root'
import { maskSources, secretsIn } from '@retake/runner/privacy'
import { recordedSources, sourceListOf, SourceStore, storedContent } from '@retake/runner/sources'
import { temporaryFolder } from '@retake/runner/temporary-folder'

/** Packages that every worker has. */
const OWN = /^(?:retake|@retake\/.*)$/
const BYTES_MAX = 1024 ** 3

/**
 * Packs the program of a run for workers: its recorded code, with masked secrets unless
 * `allowsSecrets`; the other files of the project that git does not ignore; and installed packages
 * they need, without development dependencies. Names are absolute paths without the first slash.
 */
export function packCode(file: string, archive: string, allowsSecrets: boolean): void {
  const tape = openTape(file)
  const { id } = tape.run
  if (movedHere(tape) !== undefined || process.platform === 'win32')
    throw cliErrors.CODE_NOT_PACKED(id, 'The project is not where the run was recorded.')
  const { folder } = new AgentProject(tape)
  const { cwd = folder } = tape.details
  const list = sourceListOf(tape)
  const modules = Object.keys(list?.files ?? {}).map((name) => path.resolve(cwd, name))
  using temporary = temporaryFolder('push-code')
  const recorded = [...writeRecorded(tape, temporary.path, allowsSecrets)]
  const own = [...new Set([...projectFiles(folder), ...modules])].filter(
    (each) =>
      !recorded.includes(each) && lstatSync(each, { throwIfNoEntry: false })?.isFile() === true,
  )
  const secret = allowsSecrets ? undefined : own.find((each) => secretsIn(each).length > 0)
  if (secret !== undefined)
    throw cliErrors.CODE_NOT_PACKED(
      id,
      `The file ${secret} seems to contain a secret.`,
      'If the program does not need the file, let git ignore it. Otherwise push without --code, or with --allow-secrets.',
    )
  const named = Object.keys(list?.packages ?? {})
  const roots = [folder, cwd, ...modules.map((each) => path.dirname(each))]
  const packages = neededPackages([...named, ...dependenciesOf(folder)], roots)
  const bytes = own.reduce((sum, each) => sum + lstatSync(each).size, 0)
  if (own.length + recorded.length + packages.length === 0 || bytes > BYTES_MAX)
    throw cliErrors.CODE_NOT_PACKED(
      id,
      bytes > BYTES_MAX ? 'They have more than 1 GB.' : 'There are no files.',
    )
  const run = (program: string, args: readonly string[], input = ''): void => {
    const { status, stderr, error } = spawnSync(program, args, { input, encoding: 'utf8' })
    if (status !== 0) throw cliErrors.CODE_NOT_PACKED(id, (error?.message ?? stderr).trim())
  }
  const packed = path.join(temporary.path, 'code.tar')
  const add = (from: string, files: readonly string[], mode: '-cf' | '-rf'): void =>
    run(
      'tar',
      [mode, packed, '-C', from, '--null', '-T', '-'],
      files.map((each) => each.slice(1)).join('\0'),
    )
  add('/', [...own, ...packages].toSorted(), '-cf')
  if (recorded.length > 0) add(path.join(temporary.path, 'recorded'), recorded.toSorted(), '-rf')
  run('gzip', [packed])
  copyFileSync(`${packed}.gz`, archive)
}

/** Writes the recorded code below `folder/recorded`, and returns its paths; none if it was not kept. */
function* writeRecorded(tape: Tape, folder: string, allowsSecrets: boolean): Generator<string> {
  const contents = new Map<string, Buffer>()
  for (const [file, content] of recordedSources(tape)) {
    if (content === undefined) return
    contents.set(file, content)
  }
  const masked = allowsSecrets ? undefined : maskSources(contents)
  for (const [file, content] of contents) {
    const target = path.join(folder, 'recorded', file)
    mkdirSync(path.dirname(target), { recursive: true })
    writeFileSync(target, masked?.get(file)?.bytes ?? content)
    yield file
  }
  yield* writeList(tape, path.join(folder, 'recorded'))
}

/** A worker needs the list to say which files differ from the recorded ones. */
function* writeList(tape: Tape, folder: string): Generator<string> {
  const { code, cwd = '.' } = tape.details
  if (code === undefined) return
  const list = storedContent(tape, code.list)
  if (list === undefined) return
  const store = new SourceStore(path.join(folder, cwd, '.retake', 'sources'))
  store.keep(new Map([[code.list, list]]))
  yield path.resolve(cwd, '.retake', 'sources', code.list.slice(0, 2), code.list)
}

/** Files that git does not ignore; all files without git. */
function projectFiles(folder: string): string[] {
  const args = ['-C', folder, 'ls-files', '-co', '--exclude-standard', '-z', '.']
  const { status, stdout } = spawnSync('git', args, { encoding: 'utf8', maxBuffer: 1 << 28 })
  const names =
    status === 0
      ? stdout.split('\0').filter((name) => name !== '')
      : filesBelow(folder).map((each) => path.relative(folder, each))
  return names
    .filter((name) => !name.split('/').some((part) => SKIPPED.has(part) || SECRET_FILE.test(part)))
    .map((name) => path.join(folder, name))
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    if (SKIPPED.has(entry.name)) return []
    const inner = path.join(folder, entry.name)
    return entry.isDirectory() ? filesBelow(inner) : [inner]
  })
}

function dependenciesOf(folder: string): string[] {
  const manifest = attempt(
    () => JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8')) as Manifest,
  )
  return ['dependencies', 'optionalDependencies', 'peerDependencies'].flatMap((kind) =>
    Object.keys(manifest?.[kind] ?? {}),
  )
}

type Manifest = Readonly<Record<string, Readonly<Record<string, string>> | undefined>>

/** Folders of packages and their dependencies, and links to them. */
function neededPackages(names: readonly string[], roots: readonly string[]): string[] {
  const found = new Set<string>()
  const waiting = names.flatMap((name) => roots.map((from) => ({ name, from })))
  const seen = new Set<string>()
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { name, from } = next
    if (OWN.test(name) || seen.has(`${name}\0${from}`)) continue
    seen.add(`${name}\0${from}`)
    const at = foldersUp(from)
      .map((above) => path.join(above, 'node_modules', name))
      .find((each) => existsSync(each))
    if (at === undefined || found.has(at)) continue
    const real = realpathSync(at)
    found.add(at)
    found.add(real)
    for (const dependency of dependenciesOf(real)) waiting.push({ name: dependency, from: real })
  }
  // A nested folder is packed with its parent.
  return [...found].filter(
    (each) => !foldersUp(path.dirname(each)).some((above) => found.has(above)),
  )
}
