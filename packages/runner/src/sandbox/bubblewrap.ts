import { spawnSync } from 'node:child_process'
import {
  closeSync,
  existsSync,
  lstatSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { attempt } from '@retake/tape/format'
import { outsideRuns } from '@retake/engine/hook'
import { foldersAbove, isBelow, resolvePath } from './file-roots.js'
import { seccompFilter } from './seccomp.js'

/** Limits of a sandboxed process. A missing list allows everything, an empty list nothing. */
export interface Confinement {
  readonly read?: readonly string[] | undefined
  readonly write?: readonly string[] | undefined
  /** Files that are never visible, such as tapes and approvals. */
  readonly hidden: readonly string[]
  /** Folders that may only be read, and the entries in them that may be written. */
  readonly readOnly?: readonly { readonly folder: string; readonly writable: readonly string[] }[]
  /** `open`: the network of this machine. `closed`: only a private loopback. */
  readonly network: 'open' | 'closed'
  readonly cwd: string
  /** Files and folders with code, which are also readable. */
  readonly code?: readonly string[]
  /** Unix sockets outside of the sandbox that may be used. */
  readonly sockets?: readonly string[]
  /** False: may start threads, but no processes. */
  readonly processes?: boolean
  /** A file that replaces `/etc/hosts`. Code inside may then also listen on the ports of its names. */
  readonly hosts?: string
  /** Further arguments of `bwrap`, such as mounts at another path. */
  readonly mounts?: readonly string[]
  /** Variables that only the program inside gets, because they would load code into `bwrap`. */
  readonly variables?: readonly (readonly [name: string, value: string])[]
}

/** Programs and libraries that are readable in every sandbox. */
const SYSTEM = ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32', '/nix/store']

/** Settings that programs need to start. Each mount takes 0.2 ms. */
const SETTINGS = [
  'alternatives',
  'group',
  'hosts',
  'ld.so.cache',
  'localtime',
  'mime.types',
  'nsswitch.conf',
  'passwd',
  'ssl',
].map((name) => `/etc/${name}`)

/** Settings for network access. Sandboxed modules need them too, because they may use the gateway. */
const NETWORK_SETTINGS = ['ca-certificates', 'pki', 'resolv.conf'].map((name) => `/etc/${name}`)

function bubblewrapArguments(confinement: Confinement): string[] {
  const { network, cwd } = confinement
  const mounts = confinement.read === undefined ? everything(confinement) : listed(confinement)
  const { read, hosts, code = [] } = confinement
  const visible = { ...confinement, read: read && [...read, ...code] }
  const hidden = confinement.hidden.filter((each) => isVisible(each, visible))
  const { write = read } = confinement
  const isWritable = (location: string): boolean =>
    write?.some((root) => isBelow(location, root)) ?? true
  return [
    '--unshare-all',
    ...(network === 'open' ? ['--share-net'] : []),
    '--die-with-parent',
    '--new-session',
    '--cap-drop',
    'ALL',
    ...mounts,
    ...pinned(hidden, confinement).flatMap((each) => ['--bind', each, each]),
    ...(confinement.readOnly ?? [])
      .filter(({ folder }) => isVisible(folder, visible))
      .flatMap(({ folder, writable }) => [
        '--ro-bind',
        folder,
        folder,
        ...writable.flatMap((each) => [isWritable(each) ? '--bind' : '--ro-bind', each, each]),
      ]),
    ...code.flatMap((each) => ['--ro-bind-try', each, each]),
    ...(hosts ? ['--ro-bind', hosts, '/etc/hosts', '--cap-add', 'CAP_NET_BIND_SERVICE'] : []),
    ...(confinement.mounts ?? []),
    ...(confinement.variables ?? []).flatMap((each) => ['--setenv', ...each]),
    ...[...hidden, ...outsideSockets(confinement).visible].flatMap((each) =>
      statSync(each).isDirectory()
        ? ['--tmpfs', each, '--remount-ro', each]
        : ['--ro-bind', '/dev/null', each],
    ),
    ...(isVisible(cwd, confinement) ? [] : ['--dir', cwd]),
    ...(confinement.read === undefined ? [] : ['--remount-ro', '/']),
    '--chdir',
    cwd,
  ]
}

/** Writable folders above hidden ones. Mounted, because renaming them would reveal the hidden ones. */
function pinned(hidden: readonly string[], { read, write = read ?? ['/'] }: Confinement): string[] {
  const above = hidden.flatMap((each) =>
    foldersAbove(each).filter((folder) =>
      write.some((root) => folder !== root && isBelow(folder, root)),
    ),
  )
  return byDepth(above)
}

interface OutsideSockets {
  /** Sockets in the listed folders. */
  readonly visible: readonly string[]
  /** False if there may be others: a socket was moved, or has a second or a relative name. */
  readonly isComplete: boolean
}

/** Sockets with a listener outside of the sandbox. */
export function outsideSockets({
  read,
  write,
  network,
  hidden,
  sockets: allowed = [],
}: Confinement): OutsideSockets {
  if (network === 'open' || read === undefined) return { visible: [], isComplete: true }
  // Paths of listening sockets in this network namespace.
  const names = attempt(() => outsideRuns(() => readFileSync('/proc/net/unix', 'utf8')), '')
    .split('\n')
    .flatMap((line) => /^\S+ \S+ \S+ 00010000 \S+ \S+ +\d+ ([^@].*)$/.exec(line)?.[1] ?? [])
    .filter((name) => !allowed.includes(name))
  const sockets = names
    .map((name) => ({ name, ...resolvePath(name) }))
    .filter(({ name, real = name }) =>
      [name, real].some((each) => isVisible(each, { read, write })),
    )
    .filter(({ name, real = name }) => !hidden.some((folder) => isBelow(real, folder)))
  return {
    visible: sockets.flatMap(({ real, stats }) => (real && stats?.isSocket() ? [real] : [])),
    isComplete:
      names.every((name) => path.isAbsolute(name)) &&
      sockets.every(({ stats }) => stats?.isSocket() === true && stats.nlink === 1),
  }
}

/** `/proc` is read-only for root, who could otherwise change kernel settings. */
const devices = (): string[] => [
  '--dev',
  '/dev',
  '--proc',
  '/proc',
  ...(process.getuid?.() === 0 ? ['--remount-ro', '/proc'] : []),
]

/** Mounts the whole disk, of which parts may be writable. */
function everything({ write }: Confinement): string[] {
  if (write === undefined) return ['--bind', '/', '/', ...devices()]
  return [
    '--ro-bind',
    '/',
    '/',
    ...devices(),
    ...outermost(write, write).flatMap((each) => ['--bind-try', each, each]),
    // Most programs need temporary files. `/dev/shm` is private and in memory.
    ...(write.some((root) => isBelow(tmpdir(), root)) ? [] : ['--setenv', 'TMPDIR', '/dev/shm']),
  ]
}

/** Mounts only the programs of the system and the listed folders. */
function listed({ read = [], write, network, code }: Confinement): string[] {
  const isAlone = network === 'closed' && code === undefined
  const writable = write ?? read
  const roots = outermost([...read, ...writable], writable)
  const isWritable = (each: string): boolean => writable.some((root) => isBelow(each, root))
  return [
    ...(system ??= SYSTEM.flatMap(systemMount)),
    ...[...SETTINGS, ...(isAlone ? [] : NETWORK_SETTINGS)].flatMap(settingMount),
    ...devices(),
    '--tmpfs',
    '/tmp',
    ...nodeMount(),
    ...roots.flatMap((each) => [isWritable(each) ? '--bind-try' : '--ro-bind-try', each, each]),
  ]
}

let system: readonly string[] | undefined

/** A link into `/usr`, such as the time zone, does not need a mount. */
function settingMount(file: string): string[] {
  const target = attempt(() => readlinkSync(file))
  return target !== undefined && isBelow(path.resolve('/etc', target), '/usr')
    ? ['--symlink', target, file]
    : ['--ro-bind-try', file, file]
}

/** On most systems `/bin` and `/lib` are links into `/usr`. */
function systemMount(folder: string): string[] {
  const stat = lstatSync(folder, { throwIfNoEntry: false })
  if (stat === undefined) return []
  return stat.isSymbolicLink()
    ? ['--symlink', readlinkSync(folder), folder]
    : ['--ro-bind', folder, folder]
}

/** Mounts Node itself, if a version manager installed it. */
function nodeMount(): string[] {
  const prefix = path.dirname(path.dirname(process.execPath))
  return prefix === '/' || SYSTEM.some((each) => isBelow(prefix, each))
    ? []
    : ['--ro-bind', prefix, prefix]
}

/** Omits folders inside writable ones: they are already visible, and may have become links. */
const outermost = (folders: readonly string[], writable: readonly string[]): string[] =>
  byDepth(folders).filter((each) => !writable.some((root) => root !== each && isBelow(each, root)))

/** Sorts outer folders first, which is the order of mounts. */
const byDepth = (folders: readonly string[]): string[] =>
  [...new Set(folders)].toSorted((a, b) => a.length - b.length)

const isVisible = (
  location: string,
  { read, write }: Pick<Confinement, 'read' | 'write'>,
): boolean =>
  read === undefined || [...read, ...(write ?? [])].some((root) => isBelow(location, root))

let found: { readonly file: string } | { readonly why: string } | undefined

/** The path of a working `bwrap`, or why there is none. Runs it, because user namespaces may be off. */
function findBubblewrap(): { readonly file: string } | { readonly why: string } {
  return (found ??= outsideRuns(probe))
}

function probe(): { readonly file: string } | { readonly why: string } {
  if (process.env['RETAKE_SANDBOX'] === 'off') return { why: 'RETAKE_SANDBOX=off turns it off' }
  if (process.platform !== 'linux') return { why: `there is no bubblewrap on ${process.platform}` }
  // Ignores the project folder, which a tool may write and npm puts first.
  const folders = (process.env['PATH'] ?? '')
    .split(':')
    .filter((each) => path.isAbsolute(each) && !each.split('/').includes('node_modules'))
    .filter((each) => !isBelow(each, process.cwd()))
  const file = ['/usr/bin', '/bin', ...folders]
    .map((each) => path.join(each, 'bwrap'))
    .find((each) => existsSync(each))
  if (file === undefined) return { why: 'bubblewrap is not installed' }
  const args = ['--unshare-all', '--ro-bind', '/', '/', '--', 'true']
  const { status, stderr } = spawnSync(file, args, { encoding: 'utf8' })
  if (status === 0) return { file }
  return {
    why: `bubblewrap does not work: ${stderr.trim().split('\n')[0] || `it ended with code ${status}`}`,
  }
}

export function sandboxMissing(): string | undefined {
  const sandbox = findBubblewrap()
  return 'why' in sandbox ? sandbox.why : undefined
}

/**
 * Starts a command in bubblewrap. `start` gets the program with its arguments, and the descriptors
 * in `stdio`, which may be followed by one more.
 */
export function startConfined<Stdio, Started>(
  confinement: Confinement,
  command: readonly string[],
  stdio: readonly Stdio[],
  start: (file: string, args: string[], stdio: (Stdio | number)[]) => Started,
): Started {
  const sandbox = findBubblewrap()
  if ('why' in sandbox) throw new Error(sandbox.why)
  const confined = outsideRuns(() => bubblewrapArguments(confinement))
  const filter = openSeccompFilter(confinement)
  if (filter === undefined) return start(sandbox.file, [...confined, '--', ...command], [...stdio])
  const filtered = [...confined, '--seccomp', String(stdio.length), '--', ...command]
  try {
    return start(sandbox.file, filtered, [...stdio, filter])
  } finally {
    outsideRuns(() => closeSync(filter))
  }
}

const fileListeners: ((folder: string) => void)[] = []

/** Calls this with each folder of which a sandbox keeps an open file, which no tool may use. */
export function onSandboxFile(listener: (folder: string) => void): void {
  fileListeners.push(listener)
}

/** Opens the seccomp filter for one process. Close it after starting the process. */
function openSeccompFilter(confinement: Confinement): number | undefined {
  const { read, network, processes = true } = confinement
  const options = {
    processes,
    network: network === 'open',
    // If everything is readable, sockets outside of the sandbox are visible.
    localSockets:
      network === 'open' || (read !== undefined && outsideSockets(confinement).isComplete),
  }
  const filter = seccompFilter(options)
  if (filter === undefined) return undefined
  const key = JSON.stringify(options)
  return outsideRuns(() => {
    let stored = filters.get(key)
    if (stored === undefined) filters.set(key, (stored = storeFilter(filter)))
    // Opened again, because the process reads the file to its end.
    return openSync(`/proc/self/fd/${stored}`, 'r')
  })
}

/** Descriptors of earlier filters. Creating a file takes as long as starting a process. */
const filters = new Map<string, number>()

function storeFilter(filter: Uint8Array): number {
  const folder = mkdtempSync(path.join(tmpdir(), 'retake-filter-'))
  const file = path.join(folder, 'seccomp')
  writeFileSync(file, filter)
  const fd = openSync(file, 'r')
  rmSync(folder, { recursive: true })
  // The descriptor is visible in `/proc` under this path.
  for (const listener of fileListeners) listener(folder)
  return fd
}
