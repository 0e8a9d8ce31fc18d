import { spawnSync } from 'node:child_process'
import { existsSync, lstatSync, readdirSync, readFileSync, realpathSync } from 'node:fs'
import path from 'node:path'
import { openTape } from '@retake/tape/node'
import { movedHere } from '@retake/runner/agent'
import { attempt } from '@retake/tape/format'
import { cliErrors } from '@retake/runner/errors'
import { AgentProject, SECRET_FILE, SKIPPED } from './project-copy.js'
import { foldersUp } from '@retake/runner/package-root'
import { secretsIn } from '@retake/runner/privacy'

/** Packages that every worker has. */
const OWN = /^(?:retake|@retake\/.*)$/
const BYTES_MAX = 1024 ** 3

/**
 * Packs the program of a run for workers: the project's files that git does not ignore, the modules
 * on the tape, and installed packages they need, without development dependencies. Names are
 * absolute paths without the first slash.
 */
export function packCode(file: string, archive: string, allowsSecrets: boolean): void {
  const tape = openTape(file)
  const { id } = tape.run
  if (movedHere(tape) !== undefined || process.platform === 'win32')
    throw cliErrors.CODE_NOT_PACKED(id, 'The project is not where the run was recorded.')
  const { folder } = new AgentProject(tape)
  const { code, cwd = folder } = tape.details
  const modules = Object.keys(code?.files ?? {}).map((name) => path.resolve(cwd, name))
  const own = [...new Set([...projectFiles(folder), ...modules])].filter(
    (each) => lstatSync(each, { throwIfNoEntry: false })?.isFile() === true,
  )
  const secret = allowsSecrets ? undefined : own.find((each) => secretsIn(each).length > 0)
  if (secret !== undefined)
    throw cliErrors.CODE_NOT_PACKED(
      id,
      `The file ${secret} seems to contain a secret.`,
      'If the program does not need the file, let git ignore it. Otherwise push without --code, or with --allow-secrets.',
    )
  const named = Object.keys(code?.packages ?? {})
  const roots = [folder, cwd, ...modules.map((each) => path.dirname(each))]
  const packages = neededPackages([...named, ...dependenciesOf(folder)], roots)
  const names = [...own, ...packages].toSorted().map((each) => each.slice(1))
  const bytes = own.reduce((sum, each) => sum + lstatSync(each).size, 0)
  if (names.length === 0 || bytes > BYTES_MAX)
    throw cliErrors.CODE_NOT_PACKED(
      id,
      names.length === 0 ? 'There are no files.' : 'They have more than 1 GB.',
    )
  const { status, stderr, error } = spawnSync(
    'tar',
    ['-czf', archive, '-C', '/', '--null', '-T', '-'],
    { input: names.join('\0'), encoding: 'utf8' },
  )
  if (status !== 0) throw cliErrors.CODE_NOT_PACKED(id, (error?.message ?? stderr).trim())
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
