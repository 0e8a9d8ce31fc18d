import fs from 'node:fs'
import path from 'node:path'

/** Everything below this folder is on the simulated disk. */
export const ROOT = '/simulated'

const FIRST_DESCRIPTOR = 1_000_000

/**
 * A disk whose machine can be switched off between any two system calls. Each file has the
 * bytes that processes see and those that survive a power cut: the ones that were synced.
 */
export class Disk {
  /** Path to file. */
  files = new Map()
  isDead = false
  /** System calls so far that change something. */
  calls = 0
  #open = new Map()
  #nextDescriptor = FIRST_DESCRIPTOR
  /** The call at which the machine dies, and whether that call still takes effect. */
  #death

  /** The process is killed at this system call, counted from now. `share`: how much of a write gets done. */
  killAt(call, share) {
    this.#death = { call: this.calls + call, share }
  }

  /** The process ended before that. */
  spare() {
    this.#death = undefined
  }

  /** A new process starts. After a power cut only synced bytes are there, and what the disk wrote by itself. */
  restart({ isPowerCut, losesPages = false, random }) {
    for (const [name, file] of this.files) {
      // Their owner is gone: Retake would find that out by its process number.
      if (/\.lock/.test(name)) this.files.delete(name)
      else if (isPowerCut) file.loseUnsynced(random, losesPages)
      if (isPowerCut && !file.isLinked) this.files.delete(name)
    }
    this.isDead = false
    this.#death = undefined
    this.#open.clear()
  }

  /** What would be in a file after a power cut, at least. */
  syncedBytes(name) {
    const file = this.files.get(name)
    return file?.isLinked ? file.synced : Buffer.alloc(0)
  }

  /** True if every byte of every tape would survive a power cut. */
  isSynced(name) {
    const file = this.files.get(name)
    return file === undefined || file.isSynced
  }

  open(name, flags) {
    const { O_CREAT, O_EXCL, O_RDWR } = fs.constants
    const mode = flags === 'w' ? O_CREAT | O_RDWR : flags === 'r' ? 0 : flags
    let file = this.files.get(name)
    if (file === undefined && isFolder(name)) file = new SimulatedFile()
    if (file === undefined && !(mode & O_CREAT)) throw systemError('ENOENT', name)
    if (file !== undefined && mode & O_EXCL) throw systemError('EEXIST', name)
    if (mode & O_CREAT) this.#change()
    if (file === undefined) this.files.set(name, (file = new SimulatedFile()))
    const descriptor = this.#nextDescriptor++
    this.#open.set(descriptor, { file, name })
    return descriptor
  }

  close(descriptor) {
    this.#of(descriptor)
    this.#change()
    this.#open.delete(descriptor)
  }

  write(descriptor, bytes, at) {
    const { file } = this.#of(descriptor)
    const share = this.#change()
    file.write(bytes.subarray(0, Math.floor(bytes.length * share)), at)
    this.#die(share)
    return bytes.length
  }

  read(descriptor, into, offset, length, at) {
    const { bytes } = this.#of(descriptor).file
    return bytes.copy(into, offset, at, Math.min(bytes.length, at + length))
  }

  truncate(descriptor, size) {
    const { file } = this.#of(descriptor)
    this.#change()
    file.truncate(size)
  }

  sync(descriptor) {
    const { file, name } = this.#of(descriptor)
    this.#change()
    if (isFolder(name)) this.#link(name)
    else file.wasSynced(Buffer.from(file.bytes))
  }

  /** Begins a sync and returns how it ends: only what was there at the beginning is certain to be on disk. */
  beginSync(descriptor) {
    const { file, name } = this.#of(descriptor)
    this.#change()
    const bytes = isFolder(name) ? undefined : Buffer.from(file.bytes)
    return () => {
      if (this.isDead) return false
      if (bytes === undefined) this.#link(name)
      else if (bytes.length >= file.synced.length) file.wasSynced(bytes)
      return true
    }
  }

  #link(folder) {
    for (const [path, file] of this.files) if (path.startsWith(folder)) file.isLinked = true
  }

  link(from, to) {
    if (this.files.has(to)) throw systemError('EEXIST', to)
    this.#change()
    this.files.set(to, this.find(from))
  }

  unlink(name) {
    this.find(name)
    this.#change()
    this.files.delete(name)
  }

  /** Puts a file there, without a system call of the process. */
  place(name, bytes) {
    const file = new SimulatedFile()
    file.write(bytes, 0)
    this.files.set(name, file)
  }

  stat(descriptor) {
    const { file, name } = this.#of(descriptor)
    return { size: file.bytes.length, isDirectory: () => isFolder(name) }
  }

  find(name) {
    const file = this.files.get(name)
    if (file === undefined) throw systemError('ENOENT', name)
    return file
  }

  #of(descriptor) {
    const found = this.#open.get(descriptor)
    if (found === undefined) throw systemError('EBADF', String(descriptor))
    return found
  }

  /** A system call that changes something. Returns how much of it is done. */
  #change() {
    if (this.isDead) throw systemError('EIO', 'the machine is off')
    this.calls += 1
    if (this.calls !== this.#death?.call) return 1
    this.isDead = true
    if (this.#death.share === 0) throw systemError('EIO', 'the machine was switched off')
    return this.#death.share
  }

  #die(share) {
    if (share < 1) throw systemError('EIO', 'the machine was switched off in the middle of a write')
  }
}

const PAGE_BYTES = 512

class SimulatedFile {
  /** The name itself survives a power cut. */
  isLinked = false
  #memory = Buffer.alloc(1 << 14)
  #size = 0
  synced = Buffer.alloc(0)
  #isSynced = true

  get bytes() {
    return this.#memory.subarray(0, this.#size)
  }

  get isSynced() {
    return this.isLinked && this.#isSynced
  }

  write(bytes, at = this.#size) {
    const end = at + bytes.length
    if (end > this.#memory.length) this.#memory = Buffer.concat([this.#memory], end * 2)
    this.#memory.set(bytes, at)
    this.#size = Math.max(this.#size, end)
    this.#isSynced = false
  }

  truncate(size) {
    if (size === this.#size) return
    this.#size = size
    this.#isSynced = false
  }

  wasSynced(bytes) {
    this.synced = bytes
    this.#isSynced = bytes.equals(this.bytes)
  }

  /** The disk may have written some of the rest on its own, and pages of it in any order. */
  loseUnsynced(random, losesPages) {
    const { length } = this.synced
    const isLonger = this.bytes.subarray(0, length).equals(this.synced)
    const survives = random.between(0, Math.max(0, this.#size - length))
    if (!isLonger) this.#memory.set(this.synced)
    this.#size = isLonger ? length + survives : length
    if (losesPages)
      for (let page = length; page < this.#size; page += PAGE_BYTES)
        if (random.chance(0.3)) this.#memory.fill(0, page, Math.min(page + PAGE_BYTES, this.#size))
    this.wasSynced(Buffer.from(this.bytes))
  }
}

/** Folders are there when something asks for them. */
const isFolder = (name) => /^(\w+|.*\.files)$/.test(path.basename(name))

const systemError = (code, what) => Object.assign(new Error(`${code}: ${what}`), { code })

const isSimulated = (file) => typeof file === 'string' && file.startsWith(ROOT)

/**
 * Puts the disk below `ROOT`. Must run before Retake loads, because Retake takes these
 * functions then. `later` calls back after some time.
 */
export function mount(current, later) {
  const isOurs = (file) =>
    isSimulated(file) || (typeof file === 'number' && file >= FIRST_DESCRIPTOR)
  const replace = (name, own) => {
    const native = fs[name]
    fs[name] = (file, ...args) =>
      isOurs(file) ? own(current(), file, ...args) : native(file, ...args)
  }
  replace('openSync', (disk, file, flags) => disk.open(file, flags))
  replace('closeSync', (disk, fd) => disk.close(fd))
  replace('writeSync', (disk, fd, data, offset = 0, length, at) =>
    typeof data === 'string'
      ? disk.write(fd, Buffer.from(data))
      : disk.write(fd, Buffer.from(data).subarray(offset, offset + (length ?? data.length)), at),
  )
  replace('writevSync', (disk, fd, pieces, at) => disk.write(fd, Buffer.concat(pieces), at))
  replace('readSync', (disk, fd, ...args) => disk.read(fd, ...args))
  replace('ftruncateSync', (disk, fd, size) => disk.truncate(fd, size))
  replace('fdatasyncSync', (disk, fd) => disk.sync(fd))
  replace('fsyncSync', (disk, fd) => disk.sync(fd))
  const syncLater = (disk, fd, callback) => {
    const end = disk.beginSync(fd)
    later(() => end() && callback(null))
  }
  replace('fdatasync', syncLater)
  replace('fsync', syncLater)
  replace('fstatSync', (disk, fd) => disk.stat(fd))
  replace('linkSync', (disk, from, to) => disk.link(from, to))
  replace('readlinkSync', (disk, file) => {
    throw systemError('EINVAL', disk.find(file) && file)
  })
  const { symlinkSync } = fs
  // A lock. Its kind does not matter here: it is a file like others.
  fs.symlinkSync = (target, file, ...args) => {
    if (!isOurs(file)) return symlinkSync(target, file, ...args)
    const disk = current()
    disk.close(disk.open(file, fs.constants.O_CREAT | fs.constants.O_EXCL))
    disk.files.get(file).write(Buffer.from(target), 0)
  }
  replace('unlinkSync', (disk, file) => disk.unlink(file))
  replace('existsSync', (disk, file) => disk.files.has(file) || isFolder(file))
  replace('statSync', (disk, file) => ({
    isDirectory: () => isFolder(file),
    isSymbolicLink: () => false,
    isFile: () => !isFolder(file),
    ...(isFolder(file) ? {} : { size: disk.find(file).bytes.length }),
  }))
  replace('readFileSync', (disk, file, encoding) => {
    const { bytes } = disk.find(file)
    return encoding === undefined ? Buffer.from(bytes) : bytes.toString(encoding)
  })
  replace('lstatSync', (disk, file) => fs.statSync(file))
  replace('realpathSync', (disk, file) => file)
  replace('writeFileSync', (disk, file, text) => {
    const fd = disk.open(file, 'w')
    disk.write(fd, Buffer.from(text), 0)
    disk.close(fd)
  })
  replace('readdirSync', () => [])
  replace('rmSync', (disk, folder) => {
    for (const name of disk.files.keys()) if (name.startsWith(folder)) disk.unlink(name)
  })
  replace('mkdirSync', () => undefined)
}
