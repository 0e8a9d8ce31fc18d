/**
 * What a function of `node:fs` does:
 * - `read`: reads content
 * - `list`, `look`: reads names, or facts such as the size
 * - `watch`: waits for changes
 * - `open`: opens or closes a descriptor
 * - `write`: writes content
 * - `copy`: takes two paths, and the content of one appears at the other
 * - `remove`: removes an entry
 * - `change`: changes something else, such as a mode
 * - `flush`: writes to the disk what the system already has
 */
export type FileEffect =
  | 'read'
  | 'list'
  | 'look'
  | 'watch'
  | 'open'
  | 'write'
  | 'copy'
  | 'remove'
  | 'change'
  | 'flush'

/** Functions of each effect, without `Sync`. Methods of a `FileHandle` have the same names. */
const FUNCTIONS: Readonly<Record<FileEffect, string>> = {
  read: 'readFile read readv readLines createReadStream readableWebStream openAsBlob loadEnvFile',
  list: 'readdir opendir glob scandir',
  look: 'access exists stat lstat fstat statfs realpath readlink',
  watch: 'watch watchFile unwatchFile FSWatcher',
  open: 'open close',
  write: 'writeFile appendFile write writev createWriteStream',
  copy: 'copyFile cp link rename',
  remove: 'rm rmdir unlink',
  change:
    'mkdir mkdtemp symlink truncate ftruncate chmod fchmod lchmod chown fchown lchown utimes futimes lutimes',
  flush: 'fsync fdatasync sync datasync',
}

const EFFECTS: ReadonlyMap<string, FileEffect> = new Map(
  (Object.keys(FUNCTIONS) as FileEffect[]).flatMap((effect) =>
    FUNCTIONS[effect].split(' ').map((name) => [name, effect] as const),
  ),
)

/**
 * The effect of a function, by its name or as recorded, such as `fs.promises.readFile` or
 * `fs.realpathSync.native`. Undefined for unknown functions.
 */
export const fileEffect = (call: string): FileEffect | undefined =>
  EFFECTS.get(call) ?? (call.startsWith('Dir.') ? 'list' : EFFECTS.get(fileFunctionName(call)))

/** The name of a recorded function, without its module and without `Sync`. */
export function fileFunctionName(call: string): string {
  const [name = ''] = /[^.]+(?=(?:\.native)?$)/.exec(call) ?? []
  return name.replace(/Sync$/, '')
}

const READING: ReadonlySet<FileEffect | undefined> = new Set<FileEffect>([
  'read',
  'list',
  'look',
  'watch',
  'open',
])

/** True if a function may change the disk, so that it must not be repeated without a decision. */
export const changesDisk = (call: string): boolean => !READING.has(fileEffect(call))
