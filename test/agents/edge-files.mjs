// Every function of node:fs in each of its forms, in the working folder. Prints
// nothing that varies, so that it says the same without Retake.
import fs, { promises as fsp } from 'node:fs'
import { promisify } from 'node:util'

let line = 0
const show = (value) => {
  if (value instanceof fs.Stats)
    return `Stats ${value.size} ${value.isFile()} ${value.isDirectory()}`
  if (value instanceof fs.Dirent) return `Dirent ${value.name} ${value.isFile()}`
  if (value?.bsize !== undefined) return `${value.constructor.name} ${Object.keys(value).join()}`
  if (typeof value === 'bigint') return `${value}n`
  if (Buffer.isBuffer(value)) return `Buffer ${value.toString()}`
  if (value instanceof Error) {
    const { constructor, name, code, errno, syscall, path, dest, message } = value
    // Node hides the class of its system errors behind a getter.
    const type = name === 'SystemError' ? name : constructor.name
    return [type, name, code, errno, syscall, path, dest, message]
      .join(' | ')
      .replaceAll(/temporary-\w+/g, 'temporary-…')
  }
  if (Array.isArray(value))
    return `[${value
      .map(show)
      .toSorted((a, b) => a.localeCompare(b))
      .join(', ')}]`
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value)
}
const log = (...words) =>
  console.log(line++, ...words.map((word) => show(word).replaceAll(process.cwd(), '…')))

/** Calls one function in its three forms, each on a place of its own. */
async function each(name, args, after = () => '') {
  const forms = {
    sync: (...given) => fs[`${name}Sync`](...given),
    callback: (...given) =>
      new Promise((resolve, reject) => {
        fs[name](...given, (error, value) => (error ? reject(error) : resolve(value)))
      }),
    promise: fsp[name],
  }
  for (const [form, call] of Object.entries(forms)) {
    if (call === undefined) continue
    try {
      log(name, form, await call(...args(form)), await after(form))
    } catch (error) {
      log(name, form, error)
    }
  }
}

fs.mkdirSync('in')
fs.writeFileSync('in/text.txt', 'some text über ☃\n')
fs.writeFileSync('in/bytes.bin', Buffer.from([0, 1, 2, 254, 255]))
const read = (path) => fs.readFileSync(path, 'utf8')

// Content.
await each('readFile', () => ['in/text.txt', 'utf8'])
await each('readFile', () => ['in/text.txt'])
await each('readFile', () => [Buffer.from('in/text.txt'), { encoding: 'latin1' }])
await each('readFile', () => [new URL(`file://${process.cwd()}/in/bytes.bin`), 'hex'])
await each(
  'writeFile',
  (form) => [`w-${form}`, 'written'],
  (form) => read(`w-${form}`),
)
await each(
  'writeFile',
  (form) => [`w-${form}`, '7b7d', 'hex'],
  (form) => read(`w-${form}`),
)
await each(
  'writeFile',
  (form) => [`w-${form}`, new Uint16Array([0x4241]), { flag: 'a' }],
  (form) => read(`w-${form}`),
)
await each(
  'appendFile',
  (form) => [`w-${form}`, ' more', { mode: 0o600 }],
  (form) => read(`w-${form}`),
)
await each(
  'truncate',
  (form) => [`w-${form}`, 3],
  (form) => read(`w-${form}`),
)
await each(
  'copyFile',
  (form) => [`w-${form}`, `c-${form}`],
  (form) => read(`c-${form}`),
)
await each('copyFile', (form) => [`w-${form}`, `c-${form}`, fs.constants.COPYFILE_EXCL])
await each(
  'rename',
  (form) => [`c-${form}`, `r-${form}`],
  (form) => fs.existsSync(`c-${form}`),
)
await each(
  'link',
  (form) => [`r-${form}`, `l-${form}`],
  (form) => read(`l-${form}`),
)
await each(
  'symlink',
  (form) => [`r-${form}`, `s-${form}`],
  (form) => fs.readlinkSync(`s-${form}`),
)
await each('readlink', (form) => [`s-${form}`, 'buffer'])
await each(
  'realpath',
  (form) => [`s-${form}`],
  () => fs.realpathSync.native('in') === `${process.cwd()}/in`,
)
await each(
  'unlink',
  (form) => [`s-${form}`],
  (form) => fs.existsSync(`s-${form}`),
)
await each(
  'chmod',
  (form) => [`r-${form}`, 0o640],
  (form) => fs.statSync(`r-${form}`).mode.toString(8),
)
await each(
  'chmod',
  (form) => [`r-${form}`, '600'],
  (form) => fs.statSync(`r-${form}`).mode.toString(8),
)
await each(
  'utimes',
  (form) => [`r-${form}`, 10, new Date(20_000)],
  (form) => fs.statSync(`r-${form}`).mtimeMs,
)
await each(
  'lutimes',
  (form) => [`r-${form}`, '30', 40.5],
  (form) => fs.statSync(`r-${form}`).mtime.toISOString(),
)
await each('access', () => ['in/text.txt', fs.constants.R_OK])
await each('access', () => ['in/none', fs.constants.R_OK])

// Stats.
await each('stat', () => ['in/text.txt'])
await each('lstat', () => ['in'])
await each(
  'stat',
  () => ['in/text.txt', { bigint: true }],
  async () => (await fsp.stat('in', { bigint: true })).isDirectory(),
)
await each(
  'statfs',
  () => ['.'],
  () => fs.statfsSync('.', { bigint: true }),
)
log('no entry', fs.statSync('in/none', { throwIfNoEntry: false }))
const stat = fs.statSync('r-sync')
log(
  'dates',
  stat.mtime instanceof Date,
  stat.mtime.getTime(),
  Object.keys(stat).slice(0, 5).join(),
  Object.prototype.hasOwnProperty.call(stat, 'size'),
)
const big = fs.statSync('r-sync', { bigint: true })
log(
  'big dates',
  typeof big.mtimeNs,
  big.mtime.getTime(),
  big.constructor.name,
  big.isSymbolicLink(),
)
log('instant', stat.mtimeInstant?.epochMilliseconds ?? '')

// Folders.
await each(
  'mkdir',
  (form) => [`d-${form}/e/f`, { recursive: true }],
  (form) => fs.existsSync(`d-${form}/e/f`),
)
await each('mkdir', (form) => [`d-${form}`])
fs.writeFileSync('d-sync/one.txt', '1')
fs.writeFileSync('d-sync/e/two.txt', '2')
await each('readdir', () => ['d-sync'])
await each('readdir', () => ['d-sync', { withFileTypes: true }])
await each('readdir', () => ['d-sync', { recursive: true }])
await each('readdir', () => ['d-sync', 'buffer'])
await each('readdir', () => ['d-sync', { withFileTypes: true, recursive: true }])
await each('readdir', () => ['in/none'])
const entry = fs.readdirSync('in', { withFileTypes: true }).find(({ name }) => name === 'text.txt')
log(
  'entry',
  entry.constructor.name,
  entry.parentPath ?? entry.path,
  entry.isFile(),
  entry.isSocket(),
  JSON.stringify(entry),
)
await each(
  'cp',
  (form) => ['d-sync', `p-${form}`, { recursive: true }],
  (form) => fs.readdirSync(`p-${form}`, { recursive: true }).toSorted().join(),
)
await each('cp', () => ['in', 'in/text.txt', { recursive: true }])
await each('rmdir', (form) => [`d-${form}`])
await each('rm', (form) => [`d-${form}`])
await each(
  'rm',
  (form) => [`d-${form}`, { recursive: true }],
  (form) => fs.existsSync(`d-${form}`),
)
await each('rm', () => ['in/none', { force: true }])
await each('mkdtemp', () => ['none/temporary-'])
if (fs.globSync) {
  log('glob', fs.globSync('in/*.txt').join(), await Array.fromAsync(fsp.glob('in/*')))
  log('glob', await promisify(fs.glob)('**/*.bin'))
}
const made = fs.mkdtempSync('temporary-')
log('made', made.length, fs.existsSync(made))
fs.rmdirSync(made)
if (fs.mkdtempDisposableSync) {
  const temporary = fs.mkdtempDisposableSync('temporary-')
  log('disposable', fs.existsSync(temporary.path))
  temporary.remove()
  const later = await fsp.mkdtempDisposable('temporary-')
  await later[Symbol.asyncDispose]()
  log('disposable', fs.existsSync(temporary.path), fs.existsSync(later.path))
}

// An open folder.
const folder = fs.opendirSync('in')
log(
  'folder',
  folder.path,
  folder instanceof fs.Dir,
  [folder.readSync(), folder.readSync()],
  folder.readSync(),
)
folder.closeSync()
try {
  folder.readSync()
} catch (error) {
  log('closed', error.code, error.message, error.name)
}
const seen = []
for await (const one of await fsp.opendir('in', { bufferSize: 1 })) seen.push(one)
log('seen', seen)
const other = await promisify(fs.opendir)('in')
log('other', [await other.read(), await promisify(other.read.bind(other))()], await other.read())
await other.close()
log('again', await other.close().catch((error) => error.code))

// Descriptors.
const fd = fs.openSync('open.bin', 'w+', 0o600)
log(
  'write',
  fs.writeSync(fd, 'text'),
  fs.writeSync(fd, Buffer.from('abcdef'), 2, 3),
  fs.writeSync(fd, 'ff', null, 'hex'),
)
log(
  'writev',
  fs.writevSync(fd, [Buffer.from('1'), Buffer.from('23')]),
  fs.writevSync(fd, [Buffer.from('X')], 0),
)
const target = Buffer.alloc(6, '.')
log(
  'read',
  fs.readSync(fd, target, 1, 4, 0),
  target,
  fs.readSync(fd, target, { position: 4, length: 2 }),
  target,
)
log(
  'readv',
  fs.readvSync(
    fd,
    [target.subarray(0, 2), new Uint8Array(target.buffer, target.byteOffset + 4, 2)],
    0,
  ),
  target,
)
log('end', fs.readSync(fd, target), fs.readSync(fd, target, 0, 0))
fs.ftruncateSync(fd, 4)
fs.futimesSync(fd, 1, 2)
fs.fchmodSync(fd, 0o644)
fs.fsyncSync(fd)
fs.fdatasyncSync(fd)
log('fstat', fs.fstatSync(fd), fs.readFileSync('open.bin', 'utf8'))
log(
  'promisified',
  await promisify(fs.read)(fd, Buffer.alloc(4), 0, 4, 0).then(
    ({ bytesRead, buffer }) => `${bytesRead} ${buffer}`,
  ),
)
log(
  'promisified',
  await promisify(fs.write)(fd, 'zz', 0).then(
    ({ bytesWritten, buffer }) => `${bytesWritten} ${buffer}`,
  ),
)
log(
  'promisified',
  await promisify(fs.readv)(fd, [Buffer.alloc(2)], 0).then(
    ({ bytesRead, buffers }) => `${bytesRead} ${buffers}`,
  ),
)
log(
  'promisified',
  await promisify(fs.writev)(fd, [Buffer.from('y')], 3).then(
    ({ bytesWritten, buffers }) => `${bytesWritten} ${buffers}`,
  ),
)
log(
  'promisified',
  await promisify(fs.exists)('open.bin'),
  await promisify(fs.exists)('none'),
  await promisify(fs.stat)('open.bin'),
)
log(
  'options',
  await promisify(fs.read)(fd, { buffer: Buffer.alloc(3), position: 1 }).then(
    ({ bytesRead, buffer }) => `${bytesRead} ${buffer}`,
  ),
)
fs.closeSync(fd)
for (const attempt of [
  () => fs.readSync(fd, target),
  () => fs.closeSync(fd),
  () => fs.fstatSync(fd),
]) {
  try {
    attempt()
  } catch (error) {
    log('bad', error.code, error.syscall, error.message)
  }
}
fs.close(fs.openSync('open.bin'))

const blob = await fs.openAsBlob('in/text.txt', { type: 'text/plain' })
log('blob', blob.size, blob.type, await blob.text(), await blob.slice(5, 9).text())
log(
  'left',
  fs.readdirSync('.').filter((name) => !name.startsWith('.')),
)
