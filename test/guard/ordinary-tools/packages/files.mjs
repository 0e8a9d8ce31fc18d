/** Tools around packages for files and archives. */
import AdmZip from 'adm-zip'
import { ZipArchive } from 'archiver'
import chokidar from 'chokidar'
import { cosmiconfig } from 'cosmiconfig'
import cpy from 'cpy'
import dotenv from 'dotenv'
import extractZip from 'extract-zip'
import fastGlob from 'fast-glob'
import { fileTypeFromFile } from 'file-type'
import { findUp } from 'find-up'
import fse from 'fs-extra'
import { glob } from 'glob'
import { globby } from 'globby'
import gracefulFs from 'graceful-fs'
import { imageSize } from 'image-size'
import { Jimp } from 'jimp'
import JSZip from 'jszip'
import klaw from 'klaw'
import { makeDirectory } from 'make-dir'
import mime from 'mime'
import { once } from 'node:events'
import fs, { createWriteStream, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { PNG } from 'pngjs'
import properLockfile from 'proper-lockfile'
import readdirp from 'readdirp'
import { rimraf } from 'rimraf'
import sharp from 'sharp'
import * as tar from 'tar'
import { temporaryWriteTask } from 'tempy'
import tmp from 'tmp'
import writeFileAtomic from 'write-file-atomic'
import yauzl from 'yauzl'

export async function admZip({ folder, archive }) {
  const zip = new AdmZip()
  zip.addLocalFolder(folder)
  zip.writeZip(archive)
  const target = `${archive}-content`
  new AdmZip(archive).extractAllTo(target, true)
  return fs.readdirSync(target).toSorted()
}

export async function archiverZip({ folder, archive }) {
  const zip = new ZipArchive({ zlib: { level: 9 } })
  const output = createWriteStream(archive)
  zip.pipe(output)
  zip.directory(folder, false)
  await Promise.all([once(output, 'close'), zip.finalize()])
  return new AdmZip(archive).getEntries().length
}

export async function jsZip({ file, archive }) {
  const zip = new JSZip().file('a.txt', readFileSync(file))
  writeFileSync(archive, await zip.generateAsync({ type: 'nodebuffer' }))
  return Object.keys((await JSZip.loadAsync(readFileSync(archive))).files)
}

export async function extractZipTo({ file, archive, folder }) {
  const zip = new AdmZip()
  zip.addLocalFile(file)
  zip.writeZip(archive)
  await extractZip(archive, { dir: path.resolve(folder) })
  return fs.readdirSync(folder)
}

export async function yauzlList({ file, archive }) {
  const zip = new AdmZip()
  zip.addLocalFile(file)
  zip.writeZip(archive)
  return new Promise((resolve, reject) => {
    yauzl.open(archive, (error, opened) => {
      if (error) return reject(error)
      const names = []
      opened.on('entry', ({ fileName }) => names.push(fileName))
      opened.on('end', () => resolve(names))
    })
  })
}

export async function tarFolder({ folder, archive }) {
  await tar.c({ gzip: true, file: archive, cwd: folder }, ['.'])
  const target = `${archive}-content`
  mkdirSync(target)
  await tar.x({ file: archive, cwd: target })
  return fs.readdirSync(target).toSorted()
}

export async function fsExtra({ folder }) {
  await fse.ensureDir(path.join(folder, 'a/b'))
  await fse.outputJson(path.join(folder, 'a/b/c.json'), { x: 1 })
  await fse.copy(path.join(folder, 'a'), path.join(folder, 'copy'))
  await fse.move(path.join(folder, 'copy'), path.join(folder, 'moved'))
  const { x } = await fse.readJson(path.join(folder, 'moved/b/c.json'))
  await fse.remove(folder)
  return [x, await fse.pathExists(folder)]
}

export const graceful = ({ file }) =>
  new Promise((resolve, reject) => {
    gracefulFs.readFile(file, 'utf8', (error, text) =>
      error ? reject(error) : resolve(text.length),
    )
  })

export const globFiles = async ({ pattern, cwd }) => (await glob(pattern, { cwd })).toSorted()
export const fastGlobFiles = async ({ pattern, cwd }) =>
  (await fastGlob(pattern, { cwd })).toSorted()
export const globbyFiles = async ({ pattern, cwd }) =>
  (await globby(pattern, { cwd, gitignore: true })).toSorted()

export async function watchFiles({ folder }) {
  const watcher = chokidar.watch(folder)
  await once(watcher, 'ready')
  const added = once(watcher, 'add')
  writeFileSync(path.join(folder, 'added.txt'), 'x')
  const [file] = await added
  await watcher.close()
  return path.basename(file)
}

export async function lockFile({ file }) {
  writeFileSync(file, 'x')
  const release = await properLockfile.lock(file)
  const isLocked = await properLockfile.check(file)
  await release()
  return isLocked
}

export async function atomicWrite({ file, text }) {
  await writeFileAtomic(file, text)
  return readFileSync(file, 'utf8')
}

export async function removeFiles({ folder }) {
  await makeDirectory(path.join(folder, 'x/y'))
  await rimraf(folder)
  return existsSync(folder)
}

export const copyFiles = async ({ pattern, folder }) => {
  await cpy(pattern, path.resolve(folder), { flat: true, cwd: process.cwd() })
  return fs.readdirSync(folder).toSorted()
}

export const temporaryFile = ({ folder }) => {
  const file = tmp.fileSync({ tmpdir: path.resolve(folder) })
  writeFileSync(file.fd, 'x')
  file.removeCallback()
  return existsSync(file.name)
}

export const temporaryTask = ({ text }) =>
  temporaryWriteTask(text, (file) => readFileSync(file, 'utf8'))

export async function walkTree({ folder }) {
  let files = 0
  for await (const { stats } of klaw(folder)) if (stats.isFile()) files++
  return files
}

export const readTree = async ({ folder }) =>
  ((await readdirp.readdirpPromise?.(folder)) ?? []).length

export const findConfig = async ({ name, from }) => {
  const found = await cosmiconfig('shop', { searchPlaces: [name] }).search(from)
  return found?.config.name
}

export const findFile = async ({ name, from }) =>
  path.basename((await findUp(name, { cwd: from, stopAt: path.resolve('work') })) ?? '')

export const readSettings = ({ file }) => dotenv.parse(readFileSync(file))
export const dotenvConfig = ({ path }) =>
  dotenv.config({ path, quiet: true, processEnv: {} }).parsed
export const fileKind = async ({ file }) => (await fileTypeFromFile(file))?.mime
export const mimeOf = ({ file }) => mime.getType(file)
export const pictureSize = ({ file }) => imageSize(readFileSync(file)).width

export async function sharpResize({ file, target, width }) {
  await sharp(file).resize(width).png().toFile(target)
  return (await sharp(target).metadata()).width
}

export const sharpBuffer = async ({ file }) =>
  (await sharp(readFileSync(file)).resize(3).raw().toBuffer({ resolveWithObject: true })).info.width

export async function jimpResize({ file, target }) {
  const image = await Jimp.read(file)
  image.resize({ w: 4, h: 4 })
  await image.write(target)
  return (await Jimp.read(target)).width
}

export const pngPixels = ({ file }) => PNG.sync.read(readFileSync(file)).data.length

/** @type {(values: Record<string, string>) => object[]} */
export const rows = () => {
  const reads = { effects: ['read'] }
  const writes = { effects: ['read', 'write'] }
  const notes = ['readme.md', 'todo.txt']
  return [
    {
      tool: admZip,
      args: { folder: 'work/notes', archive: 'work/out/a.zip' },
      ...writes,
      expected: notes,
    },
    {
      tool: archiverZip,
      args: { folder: 'work/notes', archive: 'work/out/b.zip' },
      ...writes,
      expected: 2,
    },
    {
      tool: jsZip,
      args: { file: 'work/sales.csv', archive: 'work/out/c.zip' },
      ...writes,
      expected: ['a.txt'],
    },
    {
      tool: extractZipTo,
      args: { file: 'work/sales.csv', archive: 'work/out/d.zip', folder: 'work/out/d' },
      ...writes,
      expected: ['sales.csv'],
    },
    {
      tool: yauzlList,
      args: { file: 'work/sales.csv', archive: 'work/out/e.zip' },
      ...writes,
      expected: ['sales.csv'],
    },
    {
      tool: tarFolder,
      args: { folder: 'work/notes', archive: 'work/out/a.tgz' },
      ...writes,
      expected: notes,
    },
    { tool: fsExtra, args: { folder: 'work/out/extra' }, ...writes, expected: [1, false] },
    { tool: graceful, args: { file: 'work/sales.csv' }, ...reads, expected: 26 },
    {
      tool: globFiles,
      args: { pattern: '**/*.{md,txt}', cwd: 'work/notes' },
      ...reads,
      expected: notes,
    },
    {
      tool: fastGlobFiles,
      args: { pattern: '**/*.{md,txt}', cwd: 'work/notes' },
      ...reads,
      expected: notes,
    },
    {
      tool: globbyFiles,
      args: { pattern: ['**/*', '!*.csv'], cwd: 'work/notes' },
      ...reads,
      expected: notes,
    },
    { tool: watchFiles, args: { folder: 'work/out' }, ...writes, expected: /./ },
    { tool: lockFile, args: { file: 'work/out/locked.txt' }, ...writes, expected: true },
    {
      tool: atomicWrite,
      args: { file: 'work/out/atomic.txt', text: 'x' },
      ...writes,
      expected: 'x',
    },
    { tool: removeFiles, args: { folder: 'work/out/gone' }, ...writes, expected: false },
    {
      tool: copyFiles,
      args: { pattern: 'work/notes/*', folder: 'work/out/copied' },
      ...writes,
      expected: notes,
    },
    { tool: temporaryFile, args: { folder: 'work/out' }, ...writes, expected: false },
    { tool: walkTree, args: { folder: 'work/notes' }, ...reads, expected: 2 },
    {
      tool: findConfig,
      args: { name: 'config.json', from: 'work' },
      ...reads,
      read: ['.'],
      expected: 'shop',
    },
    {
      tool: findFile,
      args: { name: 'config.json', from: 'work/notes' },
      ...reads,
      expected: 'config.json',
    },
    {
      tool: readSettings,
      args: { file: 'work/settings.env' },
      ...reads,
      expected: { A: '1', NAME: 'two words' },
    },
    {
      tool: dotenvConfig,
      args: { path: 'work/settings.env' },
      ...reads,
      expected: { A: '1', NAME: 'two words' },
    },
    { tool: fileKind, args: { file: 'work/pixel.png' }, ...reads, expected: 'image/png' },
    { tool: mimeOf, args: { file: 'x.pdf' }, expected: 'application/pdf' },
    { tool: pictureSize, args: { file: 'work/pixel.png' }, ...reads, expected: 1 },
    {
      tool: sharpResize,
      args: { file: 'work/pixel.png', target: 'work/out/s.png', width: 8 },
      ...writes,
      expected: 8,
    },
    { tool: sharpBuffer, args: { file: 'work/pixel.png' }, ...reads, expected: 3 },
    {
      tool: jimpResize,
      args: { file: 'work/pixel.png', target: 'work/out/j.png' },
      ...writes,
      expected: 4,
    },
    { tool: pngPixels, args: { file: 'work/pixel.png' }, ...reads, expected: 4 },
  ]
}
