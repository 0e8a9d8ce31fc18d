import { lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { shellQuote } from '../terminal/shell-word.js'

/** Kernel interfaces, shared with the sandbox unchanged. */
const KERNEL = ['/proc', '/sys', '/dev']

/** Characters with a meaning in the options of an overlay mount. */
const UNUSABLE = /[,:\\"\n]/

/**
 * A shell script that creates a new root with the same content, in which every write goes to
 * memory, and runs `last` in it. Needs permission to mount in its own mount namespace.
 *
 * Each folder of `/` gets its own overlay, because in a user namespace the kernel refuses an
 * overlay over a folder with mounts below it. Such a folder is descended into if it leads to one of
 * `needed`, and read-only otherwise. Prints `open <folder>` to file descriptor 3 for a folder whose
 * writes cannot be redirected.
 */
export function mountScript(
  folder: string,
  options: {
    /** Folders the command will write to: working, home and temporary directory. */
    readonly needed: readonly string[]
    /** True if the overlay belongs to a user namespace. */
    readonly isUnprivileged: boolean
    readonly sockets: readonly string[]
    readonly last: string
  },
): string {
  const root = `${folder}/root`
  const mounts = readFileSync('/proc/self/mountinfo', 'utf8')
    .trim()
    .split('\n')
    .map((line) => (line.split(' ')[4] ?? '').replaceAll(/\\(\d{3})/g, fromOctal))
  const extra = options.isUnprivileged ? ',userxattr' : ''
  const lines: string[] = []
  let count = 0

  const readOnly = (path: string): string =>
    `{ mount --rbind ${shellQuote(path)} ${shellQuote(root + path)} && { mount -o remount,bind,ro ${shellQuote(root + path)} || echo ${shellQuote(`open ${path}`)} >&3; }; }`

  const add = (path: string): void => {
    const entry = lstatSync(path, { throwIfNoEntry: false })
    if (entry?.isSymbolicLink())
      lines.push(`ln -s ${shellQuote(readlinkSync(path))} ${shellQuote(root + path)}`)
    if (!entry?.isDirectory()) return
    lines.push(`mkdir -p ${shellQuote(root + path)}`)
    if (KERNEL.includes(path)) lines.push(`mount --rbind ${path} ${root}${path}`)
    else if (!mounts.some((mount) => isBelow(mount, path))) lines.push(overlay(path))
    else if (options.needed.some((each) => isBelow(each, path)))
      for (const name of readdirSync(path)) add(`${path}/${name}`)
    else lines.push(readOnly(path))
  }

  const overlay = (path: string): string => {
    if (UNUSABLE.test(path)) return readOnly(path)
    const [upper, work] = [`${folder}/rw/${count}`, `${folder}/rw/${count}-work`]
    count += 1
    const layers = `lowerdir=${path},upperdir=${upper},workdir=${work}${extra}`
    return `mkdir -p ${upper} ${work}; mount -t overlay overlay -o ${shellQuote(layers)} ${shellQuote(root + path)} || ${readOnly(path)}`
  }

  for (const name of readdirSync('/')) add(`/${name}`)
  if (options.isUnprivileged)
    for (const path of ownedFolders([...options.needed, '/var/tmp/']))
      if (!mounts.some((mount) => isBelow(mount, path))) lines.push(overlay(path))
  return [
    'set -e',
    'PATH=$PATH:/usr/sbin:/sbin',
    `mount -t tmpfs -o mode=755 tmpfs ${shellQuote(`${folder}/rw`)}`,
    `mount -t tmpfs -o mode=755 tmpfs ${shellQuote(root)}`,
    ...lines,
    `mount -t tmpfs -o mode=1777 tmpfs ${root}/dev/shm`,
    // A socket works only through the folder it was created in.
    `mount --bind ${shellQuote(`${folder}/share`)} ${shellQuote(`${root}${folder}/share`)}`,
    ...options.sockets.map(
      (socket) =>
        // A socket that no longer exists need not be hidden.
        `mount --bind /dev/null ${shellQuote(root + socket)} || [ ! -e ${shellQuote(root + socket)} ] || echo ${shellQuote(`open ${socket}`)} >&3`,
    ),
    `mkdir -p ${shellQuote(`${root}/.retake-old-root`)}`,
    `cd ${shellQuote(root)}`,
    'pivot_root . .retake-old-root',
    'umount -l /.retake-old-root',
    'rmdir /.retake-old-root',
    options.last,
  ].join('\n')
}

/**
 * Folders that the user owns or anyone can write to, below folders of another user. A user
 * namespace cannot copy the latter to the upper layer, so the former get their own overlays.
 */
function ownedFolders(needed: readonly string[]): string[] {
  const uid = process.getuid?.()
  const found = needed.flatMap((path) => {
    const parts = path.split('/').filter((part) => part !== '')
    const folders = parts.map((_, index) => `/${parts.slice(0, index + 1).join('/')}`)
    return (
      folders.slice(1).find((folder) => {
        const stat = lstatSync(folder, { throwIfNoEntry: false })
        return stat?.isDirectory() && (stat.uid === uid || (stat.mode & 0o1002) === 0o1002)
      }) ?? []
    )
  })
  return [...new Set(found)]
}

const isBelow = (path: string, folder: string): boolean => path.startsWith(`${folder}/`)

const fromOctal = (_: string, digits: string): string => String.fromCodePoint(parseInt(digits, 8))

/** Socket files with a listener, such as databases. A network namespace does not hide them. */
export function listeningSockets(): string[] {
  const lines = readFileSync('/proc/net/unix', 'utf8').trim().split('\n').slice(1)
  const paths = lines.flatMap((line) => {
    const [, , , flags, , , , ...rest] = line.split(/ +/)
    return flags === '00010000' && rest[0]?.startsWith('/') ? [rest.join(' ')] : []
  })
  return [...new Set(paths)].filter((path) =>
    lstatSync(path, { throwIfNoEntry: false })?.isSocket(),
  )
}
