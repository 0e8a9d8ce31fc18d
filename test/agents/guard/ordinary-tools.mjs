/**
 * Ordinary tools, built with packages that people use, under sensible scopes. Prints what became of
 * each as JSON. Usage: `ordinary-tools.mjs <before|after> <folder>`: when packages are loaded.
 */
import { execFile } from 'node:child_process'
import fs from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'

const [, , when, folder] = process.argv
const require = createRequire(import.meta.url)
const load = async () => ({
  AdmZip: require('adm-zip'),
  execa: (await import('execa')).execa,
  fastGlob: require('fast-glob'),
  fdir: require('fdir').fdir,
  fsExtra: require('fs-extra'),
  glob: (await import('glob')).glob,
  gracefulFs: require('graceful-fs'),
  pino: require('pino'),
  tinyglobby: (await import('tinyglobby')).glob,
  winston: require('winston'),
})
const early = when === 'before' ? await load() : undefined
const { guard, presets } = await import('@retake/guard')

const work = join(folder, 'work')
const outside = join(folder, 'outside')
for (const each of [join(work, 'src'), join(work, 'deep/er'), outside])
  fs.mkdirSync(each, { recursive: true })
fs.writeFileSync(join(work, 'src/a.txt'), 'a')
fs.writeFileSync(join(work, 'deep/er/b.txt'), 'b')
fs.writeFileSync(join(outside, 'secret.txt'), 'TOP SECRET')
fs.symlinkSync(outside, join(work, 'linked'))
fs.symlinkSync(join(outside, 'secret.txt'), join(work, 'linked.txt'))
// As pnpm lays packages out: files have a second name in its store.
fs.mkdirSync(join(folder, 'store'))
fs.mkdirSync(join(work, 'node_modules/.pnpm/a@1/node_modules/a'), { recursive: true })
fs.writeFileSync(join(folder, 'store/a.js'), 'module.exports = 42')
fs.linkSync(
  join(folder, 'store/a.js'),
  join(work, 'node_modules/.pnpm/a@1/node_modules/a/index.js'),
)
fs.writeFileSync(join(work, 'echo'), '#!/bin/sh\necho forged', { mode: 0o755 })
fs.symlinkSync('.pnpm/a@1/node_modules/a', join(work, 'node_modules/a'))

const policy = presets.sandbox({
  root: work,
  programs: [
    ['echo', 'hi'],
    ['git', '--version'],
  ],
})
const run = guard({
  name: 'ordinary',
  policy,
  dir: join(folder, 'tapes'),
  durability: 'process',
  limits: { timeoutMs: 8000 },
})
const packages = early ?? (await load())
const { AdmZip, execa, fastGlob, fdir, fsExtra, glob, gracefulFs, pino, tinyglobby, winston } =
  packages

const archive = new AdmZip()
archive.addFile('in/side.txt', Buffer.from('zipped'))
const zip = join(work, 'archive.zip')
archive.writeZip(zip)

const log = join(folder, 'logs')
fs.mkdirSync(log)
const read = (name) => fs.readFileSync(join(log, name), 'utf8')
const pinoSync = pino(pino.destination({ dest: join(log, 'pino'), sync: true }))
const pinoLater = pino(pino.destination({ dest: join(log, 'pino-later'), sync: false }))
const logger = winston.createLogger({
  transports: [new winston.transports.File({ filename: join(log, 'winston') })],
})
const stream = fs.createWriteStream(join(log, 'stream'), { flags: 'a' })
const descriptor = fs.openSync(join(log, 'descriptor'), 'a')
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
await pause(100)
const names = (list) =>
  list
    .map((each) => each.replace(`${work}/`, '').replace(/^\.\//, ''))
    .filter((each) => each.endsWith('.txt') && !each.startsWith('linked'))
    .toSorted()
    .join()
const TEXTS = 'deep/er/b.txt,src/a.txt'
/**
 * A tool that logs. A stream writes the second text when the first is written, usually after the
 * call.
 */
const logs = (name, write, text = 'from the tool') => [
  () => {
    write('some text before')
    return write(text)
  },
  undefined,
  async () => {
    for (let waited = 0; waited < 5_000 && !read(name).includes(text); waited += 20) await pause(20)
    return read(name).includes(text)
  },
]

const tools = {
  'fast-glob': [() => fastGlob('**/*.txt', { cwd: work }).then(names), TEXTS],
  'fast-glob, synchronous': [() => names(fastGlob.sync('**/*.txt', { cwd: work })), TEXTS],
  glob: [() => glob('**/*.txt', { cwd: work }).then(names), TEXTS],
  'glob that follows links': [
    () => glob('**/*.txt', { cwd: work, follow: true }).then(names),
    TEXTS,
  ],
  tinyglobby: [() => tinyglobby('**/*.txt', { cwd: work }).then(names), TEXTS],
  fdir: [() => new fdir().withFullPaths().crawl(work).withPromise().then(names), TEXTS],
  'fdir that follows links': [
    () => new fdir().withFullPaths().withSymlinks().crawl(work).withPromise().then(names),
    TEXTS,
  ],
  'readdir, recursive': [() => names(fs.readdirSync(work, { recursive: true })), TEXTS],
  'readdir, recursive, later': [
    () => fs.promises.readdir(work, { recursive: true }).then(names),
    TEXTS,
  ],
  'readdir, recursive, with types': [
    () =>
      names(
        fs
          .readdirSync(work, { recursive: true, withFileTypes: true })
          .map((each) => join(each.parentPath ?? each.path, each.name)),
      ),
    TEXTS,
  ],
  'adm-zip, extract': [
    () => {
      new AdmZip(zip).extractAllTo(join(work, 'new/folder'), true)
      return fs.readFileSync(join(work, 'new/folder/in/side.txt'), 'utf8')
    },
    'zipped',
  ],
  'adm-zip, write': [
    () => {
      const z = new AdmZip()
      z.addLocalFile(join(work, 'src/a.txt'))
      z.writeZip(join(work, 'made.zip'))
      return new AdmZip(join(work, 'made.zip')).getEntries().length
    },
    1,
  ],
  'fs-extra, ensureDir': [
    () => fsExtra.ensureDir(join(work, 'x/y')).then(() => fs.existsSync(join(work, 'x/y'))),
    true,
  ],
  'fs-extra, outputFile and copy': [
    async () => {
      await fsExtra.outputFile(join(work, 'o/p.json'), '1')
      await fsExtra.copy(join(work, 'o'), join(work, 'q'))
      return fsExtra.readJson(join(work, 'q/p.json'))
    },
    1,
  ],
  'fs-extra, move and remove': [
    async () => {
      await fsExtra.outputFile(join(work, 'm/a'), '1')
      await fsExtra.move(join(work, 'm'), join(work, 'n'))
      await fsExtra.remove(join(work, 'n'))
      return fs.existsSync(join(work, 'n'))
    },
    false,
  ],
  'graceful-fs': [() => promisify(gracefulFs.readFile)(join(work, 'src/a.txt'), 'utf8'), 'a'],
  'a lock, as proper-lockfile makes it': [
    async () => {
      const file = await promisify(gracefulFs.realpath)(join(work, 'src/a.txt'))
      await promisify(gracefulFs.mkdir)(`${file}.lock`)
      const { mtime } = await promisify(gracefulFs.stat)(`${file}.lock`)
      await promisify(gracefulFs.utimes)(`${file}.lock`, mtime, mtime)
      await promisify(gracefulFs.rmdir)(`${file}.lock`)
      return fs.existsSync(`${file}.lock`)
    },
    false,
  ],
  'a look at the folders above': [
    () => {
      const found = []
      for (let at = work; ; at = dirname(at)) {
        found.push(
          fs.statSync(at).isDirectory() && fs.lstatSync(at).isDirectory() && fs.existsSync(at),
        )
        if (at === dirname(at)) return found.every(Boolean)
      }
    },
    true,
  ],
  'access to the folders above': [
    async () => {
      for (let at = work; at !== '/'; at = dirname(at)) await fs.promises.access(at)
      return true
    },
    true,
  ],
  'a module of a pnpm layout, read': [
    () => fs.readFileSync(join(work, 'node_modules/a/index.js'), 'utf8'),
    'module.exports = 42',
  ],
  'a module of a pnpm layout, required': [() => createRequire(join(work, 'x.js'))('a'), 42],
  'a log of pino': logs('pino', (text) => void pinoSync.info(text)),
  'a log of pino, later': logs('pino-later', (text) => void pinoLater.info(text)),
  'a log of winston': logs('winston', (text) => void logger.info(text)),
  'a log of winston, again': logs('winston', (text) => void logger.info(text), 'from another tool'),
  'a stream from before': logs('stream', (text) => void stream.write(text)),
  'a stream from before, again': logs('stream', (text) => void stream.write(text), 'another'),
  'a log by descriptor': logs('descriptor', (text) => void fs.writeSync(descriptor, text)),
  'a log of winston after all of them': logs(
    'winston',
    (text) => pause(20).then(() => void logger.info(text)),
    'at last',
  ),
  'console.log': [
    () => {
      console.error('')
      return true
    },
    true,
  ],
  execFile: [async () => (await promisify(execFile)('echo', ['hi'], { cwd: work })).stdout, 'hi\n'],
  execa: [async () => (await execa('echo', ['hi'], { cwd: work })).stdout, 'hi'],
  'execa, preferLocal': [
    async () => (await execa('echo', ['hi'], { cwd: work, preferLocal: true })).stdout,
    'hi',
  ],
  'git with variables, as simple-git starts it': [
    async () => {
      const env = { ...process.env, GIT_TERMINAL_PROMPT: '0', GIT_OPTIONAL_LOCKS: '0' }
      return (
        await promisify(execFile)('git', ['--version'], { cwd: work, env })
      ).stdout.startsWith('git')
    },
    true,
  ],
  'a program after the process has set a variable': [
    async () => (await promisify(execFile)('echo', ['hi'], { cwd: work })).stdout,
    'hi\n',
  ],
}

/** As close to the tools above as it gets, and not allowed. */
const attacks = {
  'a list of the folder above': () => fs.readdirSync(folder).join(),
  'a file beside the folder': () => fs.statSync(join(outside, 'secret.txt')).size,
  'a link to the outside, by fs-extra': () =>
    fsExtra.ensureSymlink(join(outside, 'secret.txt'), join(work, 'planted')),
  'a file through a link': () => fsExtra.readFile(join(work, 'linked/secret.txt'), 'utf8'),
  'a descriptor in place of a path': () => fs.writeFileSync(descriptor, 'forged'),
  'a log that is read': () => fs.readSync(descriptor, Buffer.alloc(8)),
  'another program by PATH': () =>
    promisify(execFile)('echo', ['hi'], { cwd: work, env: { PATH: work } }),
}

process.env.SET_LATER = 'x'
const results = {}
for (const [name, [tool, expected, check]] of Object.entries(tools)) {
  run.tool(name, tool)
  const { status, output, error } = await run.call(name, {})
  const isRight = status === 'done' && output === expected && (await check?.()) !== false
  results[name] = isRight
    ? 'works'
    : `${status} ${JSON.stringify(output)} ${error?.code ?? ''} ${error?.message ?? ''}`
}
const refused = {}
for (const [name, tool] of Object.entries(attacks)) {
  run.tool(name, tool)
  refused[name] = (await run.call(name, {})).status
}
run.end()
const isSafe = Object.values(results).every((each) => !each.includes('TOP SECRET'))
process.stdout.write(`${JSON.stringify({ isSafe, results, refused })}\n`, () => process.exit(0))
