import { spawnSync } from 'node:child_process'
import path from 'node:path'
import type { Tape } from '@retake/tape'
import { entryOf } from './source-code.js'
import { sourceListOf } from './source-store.js'
import { cliErrors } from '../errors.js'
import { foldersUp } from '../package-root.js'

interface Installer {
  readonly command: string
  readonly args: readonly string[]
}

/** A replay may not run what packages do when they are installed; caches work without a network. */
const FLAGS = ['--ignore-scripts', '--prefer-offline'] as const
const npm = { command: 'npm', args: ['ci', ...FLAGS, '--no-audit', '--no-fund'] }

/** How each lock file is installed without changing it. */
const INSTALLERS: Readonly<Record<string, (lock: string) => Installer>> = {
  'package-lock.json': () => npm,
  'npm-shrinkwrap.json': () => npm,
  'pnpm-lock.yaml': () => ({ command: 'pnpm', args: ['install', '--frozen-lockfile', ...FLAGS] }),
  'yarn.lock': (lock) => ({
    command: 'yarn',
    // Yarn 1 wrote no such entry.
    args: lock.includes('__metadata:')
      ? ['install', '--immutable', '--mode=skip-build']
      : ['install', '--frozen-lockfile', ...FLAGS],
  }),
  'bun.lock': () => ({ command: 'bun', args: ['install', '--frozen-lockfile', FLAGS[0]] }),
}

/** True if the code of a run includes a lock file, so that its packages can be installed. */
export const hasLockFile = (tape: Tape): boolean =>
  Object.keys(sourceListOf(tape)?.settings ?? {}).some((file) => path.basename(file) in INSTALLERS)

/** The recorded lock file of a program, and what installs it. */
export interface RecordedPackages extends Installer {
  /** Recorded folder of the lock file. */
  readonly folder: string
}

/**
 * Throws if no lock file was recorded. In a workspace too: an installation would also write to
 * packages that are links to today's.
 */
export function recordedPackages(
  tape: Tape,
  contents: ReadonlyMap<string, Buffer>,
): RecordedPackages {
  const entry = path.resolve(tape.details.cwd ?? '.', entryOf(tape)?.file ?? '')
  const textOf = (folder: string, name: string): string | undefined =>
    contents.get(path.join(folder, name))?.toString()
  for (const folder of foldersUp(path.dirname(entry)))
    for (const [name, installerOf] of Object.entries(INSTALLERS)) {
      const lock = textOf(folder, name)
      if (lock === undefined) continue
      const isWorkspace =
        textOf(folder, 'pnpm-workspace.yaml') !== undefined ||
        /"workspaces"\s*:/.test(textOf(folder, 'package.json') ?? '')
      if (isWorkspace)
        throw cliErrors.PACKAGES_NOT_INSTALLED('The project is a workspace with several packages.')
      return { folder, ...installerOf(lock) }
    }
  throw cliErrors.PACKAGES_NOT_INSTALLED('No lock file was recorded.')
}

/** Installs the packages of a lock file in this folder. */
export function installPackages({ command, args }: Installer, folder: string): void {
  const { status, error, stderr, stdout } = spawnSync(command, args, {
    cwd: folder,
    encoding: 'utf8',
    // Commands of package managers are scripts there.
    shell: process.platform === 'win32',
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  if (status === 0) return
  const [why = ''] = (stderr || stdout || '').trim().split('\n').slice(-1)
  const text = `\`${[command, ...args].join(' ')}\` ${error ? `did not start: ${error.message}` : `ended with ${status}: ${why}`}`
  throw cliErrors.PACKAGES_NOT_INSTALLED(`${text.replace(/\.$/, '')}.`)
}
