/** Ways to a file that a policy does not allow, each with a twin that is allowed. */
import fs from 'node:fs'
import { createRequire } from 'node:module'
import { basename, resolve } from 'node:path'
import { Readable } from 'node:stream'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import vm from 'node:vm'

// ── in the arguments: refused before the tool starts ────────────────────────

/** The first text in a value, as a tool would take it out of its arguments. */
function firstText(value) {
  if (typeof value === 'string') return value
  if (value instanceof URL) return value.href
  if (value instanceof Uint8Array) return Buffer.from(value).toString()
  const members =
    value instanceof Map
      ? [...value.keys(), ...value.values()]
      : value instanceof Set
        ? [...value]
        : Object.entries(value ?? {}).flatMap(([key, each]) => (/[./]/.test(key) ? [key] : [each]))
  return members.map(firstText).find((text) => text !== undefined)
}

/** Reads the file that its arguments name. */
function readNamed(args, { root }) {
  const text = firstText(args).trim()
  const path = /^file:/i.test(text) ? fileURLToPath(text) : resolve(root, text)
  return fs.readFileSync(path, 'utf8')
}

const inArguments = (
  name,
  code,
  attack,
  twin = () => 'notes.txt',
  wrap = (path) => ({ path }),
) => ({
  name,
  code,
  starts: 0,
  tool: readNamed,
  args: (world) => wrap(typeof attack === 'function' ? attack(world) : attack),
  twin: { args: (world) => wrap(typeof twin === 'function' ? twin(world) : twin) },
})

const climb = '../secret.txt'

const argumentAttacks = [
  inArguments('climbing', 'PATH_TRAVERSAL', climb, 'sub/../notes.txt'),
  inArguments(
    'climbing far',
    'PATH_TRAVERSAL',
    '../../../../../../../../etc/passwd',
    './notes.txt',
  ),
  inArguments('climbing after a dot', 'PATH_TRAVERSAL', './../secret.txt', './sub/./deep.txt'),
  inArguments(
    'climbing out of a folder below',
    'PATH_TRAVERSAL',
    'sub/../../secret.txt',
    'sub/../sub/deep.txt',
  ),
  inArguments(
    'climbing through a folder that is not there',
    'PATH_TRAVERSAL',
    'nope/../../secret.txt',
  ),
  inArguments(
    'climbing from the root by its name',
    'PATH_TRAVERSAL',
    ({ root }) => `${root}/../secret.txt`,
    ({ root }) => `${root}/sub/../notes.txt`,
  ),
  inArguments('nothing but two dots', 'PATH_TRAVERSAL', '..'),
  inArguments('doubled separators', 'PATH_TRAVERSAL', './/..//secret.txt', './/sub//deep.txt'),
  inArguments('blanks around it', 'PATH_TRAVERSAL', ` ${climb}\n`, ' notes.txt\n'),
  inArguments(
    'an absolute path',
    'PATH_OUTSIDE_ROOT',
    ({ base }) => `${base}/secret.txt`,
    ({ root }) => `${root}/notes.txt`,
  ),
  inArguments(
    'an absolute path with a blank',
    'PATH_OUTSIDE_ROOT',
    ({ base }) => `${base}/my secrets/secret.txt`,
    ({ root }) => `${root}/my notes.txt`,
  ),
  inArguments('a file of the system', 'PATH_OUTSIDE_ROOT', '/etc/passwd'),
  inArguments(
    'a sibling whose name begins like the root',
    'PATH_OUTSIDE_ROOT',
    ({ root }) => `${root}-evil/secret.txt`,
    ({ root }) => `${root}/sub/deep.txt`,
  ),
  inArguments(
    'the root in another case',
    'PATH_OUTSIDE_ROOT',
    ({ base }) => `${base}/ROOT/secret.txt`,
    ({ base }) => `${base}/root/notes.txt`,
  ),
  inArguments('an argument named target', 'PATH_TRAVERSAL', climb, 'notes.txt', (target) => ({
    target,
  })),
  inArguments('an argument named comment', 'PATH_TRAVERSAL', climb, 'notes.txt', (comment) => ({
    comment,
  })),
  inArguments('an argument without a name', 'PATH_TRAVERSAL', climb, 'notes.txt', (path) => path),
  inArguments('deep in the arguments', 'PATH_TRAVERSAL', climb, 'notes.txt', (where) => ({
    list: [{ one: { where } }],
  })),
  inArguments(
    'the value of a map',
    'PATH_TRAVERSAL',
    climb,
    'notes.txt',
    (path) => new Map([[1, path]]),
  ),
  inArguments('a member of a set', 'PATH_TRAVERSAL', climb, 'notes.txt', (path) => new Set([path])),
  inArguments('bytes', 'PATH_TRAVERSAL', climb, 'notes.txt', (path) => ({
    bytes: Buffer.from(path),
  })),
  inArguments('a link by its plain name', 'PATH_SYMLINK_ESCAPE', 'link.txt', 'inner-link'),
  inArguments(
    'a link by its whole path',
    'PATH_SYMLINK_ESCAPE',
    ({ root }) => `${root}/link.txt`,
    ({ root }) => `${root}/inner-link`,
  ),
  inArguments(
    'a link to a folder on the way',
    'PATH_SYMLINK_ESCAPE',
    'dirlink/secret.txt',
    'sub/deep.txt',
  ),
  inArguments('a link with an absolute target', 'PATH_SYMLINK_ESCAPE', 'sub/abs', 'sub/up'),
  inArguments('a link to a link', 'PATH_SYMLINK_ESCAPE', 'chain', 'inner-link'),
  inArguments('a link that dangles', 'PATH_SYMLINK_ESCAPE', 'dangling'),
  inArguments('links in a circle', 'PATH_SYMLINK_LOOP', 'loop', 'inner-link'),
  inArguments('a device', 'PATH_DEVICE', '/dev/stdin'),
  inArguments('a descriptor as a device', 'PATH_DEVICE', '/dev/fd/0'),
  inArguments('the environment of the process', 'PATH_DEVICE', '/proc/self/environ'),
  inArguments(
    'the root of the process',
    'PATH_DEVICE',
    ({ base }) => `/proc/self/root${base}/secret.txt`,
  ),
  inArguments('the working directory of the process', 'PATH_DEVICE', '/proc/self/cwd/notes.txt'),
  inArguments('a descriptor of the process', 'PATH_DEVICE', '/proc/self/fd/0'),
  inArguments('the insides of the kernel', 'PATH_DEVICE', '/sys/kernel/notes'),
  inArguments('climbing into a device', 'PATH_DEVICE', '/tmp/../dev/stdin'),
  inArguments('backslashes', 'PATH_TRAVERSAL', String.raw`..\secret.txt`),
  inArguments('both separators', 'PATH_TRAVERSAL', String.raw`sub\../..\secret.txt`),
  inArguments(
    'a file URL',
    'PATH_OUTSIDE_ROOT',
    ({ base }) => `file://${base}/secret.txt`,
    ({ root }) => `file://${root}/notes.txt`,
  ),
  inArguments(
    'a file URL as an object',
    'PATH_OUTSIDE_ROOT',
    ({ base }) => pathToFileURL(`${base}/secret.txt`),
    ({ root }) => pathToFileURL(`${root}/notes.txt`),
  ),
  inArguments(
    'a file URL in capitals',
    'PATH_OUTSIDE_ROOT',
    ({ base }) => `FILE://${base}/secret.txt`,
    ({ root }) => `FILE://${root}/notes.txt`,
  ),
  inArguments(
    'a file URL that climbs',
    'PATH_OUTSIDE_ROOT',
    ({ root }) => `file://${root}/../secret.txt`,
    ({ root }) => `file://${root}/sub/../notes.txt`,
  ),
  inArguments(
    'a file URL with encoded dots',
    'PATH_OUTSIDE_ROOT',
    ({ root }) => `file://${root}/%2e%2e/secret.txt`,
    ({ root }) => `file://${root}/notes%2etxt`,
  ),
]

// ── in disguise: the boundary refuses them ──────────────────────────────────

/** A tool that gets to a path in a way which no look at its arguments finds. */
const disguised = (name, code, tool, attack, twin) => ({
  name,
  code,
  starts: 1,
  tool: (args, world) => fs.promises.readFile(resolve(world.root, tool(args.text, world)), 'utf8'),
  args: () => ({ text: attack }),
  twin: { args: () => ({ text: twin }) },
})

const base64 = (text) => Buffer.from(text).toString('base64')
const reversed = (text) => [...text].toReversed().join('')

const disguises = [
  disguised(
    'as base64',
    'PATH_OUTSIDE_ROOT',
    (text) => Buffer.from(text, 'base64').toString(),
    base64(climb),
    base64('notes.txt'),
  ),
  disguised(
    'as hexadecimal',
    'PATH_OUTSIDE_ROOT',
    (text) => Buffer.from(text, 'hex').toString(),
    Buffer.from(climb).toString('hex'),
    Buffer.from('notes.txt').toString('hex'),
  ),
  disguised('backwards', 'PATH_OUTSIDE_ROOT', reversed, reversed(climb), reversed('notes.txt')),
  disguised(
    'in pieces',
    'PATH_OUTSIDE_ROOT',
    (text) => text.split(' ').join(''),
    '. . / secret.txt',
    'not es.t xt',
  ),
  disguised(
    'by words',
    'PATH_OUTSIDE_ROOT',
    (text) => text.replaceAll('UP', '..').replaceAll('SLASH', '/'),
    'UPSLASHsecret.txt',
    'subSLASHdeep.txt',
  ),
  disguised(
    'past a filter that looks once',
    'PATH_OUTSIDE_ROOT',
    (text) => text.replace('../', ''),
    '....//secret.txt',
    '../notes.txt'.slice(3),
  ),
  disguised(
    'in the content of a file',
    'PATH_OUTSIDE_ROOT',
    (text, { at }) => fs.readFileSync(at(text), 'utf8'),
    'pointer.txt',
    'inner-pointer.txt',
  ),
  disguised(
    'in JSON',
    'PATH_OUTSIDE_ROOT',
    (text) => JSON.parse(text).path,
    JSON.stringify({ path: climb }),
    JSON.stringify({ path: 'notes.txt' }),
  ),
  disguised(
    'in prose',
    'PATH_OUTSIDE_ROOT',
    (text) => text.split(' ').at(-1),
    `please read ${climb}`,
    'please read notes.txt',
  ),
  disguised(
    'from the environment',
    'PATH_OUTSIDE_ROOT',
    (text) => process.env[text] ?? text,
    'HOME',
    'notes.txt',
  ),
]

// ── every function of node:fs ───────────────────────────────────────────────

/** `work` gets a path outside as an attack and one inside as the twin, and answers what it read. */
const withPath = (name, work, options = {}) => {
  const { code = 'PATH_OUTSIDE_ROOT', outside = 'secret.txt', inside = 'notes.txt' } = options
  return {
    name: `${name} outside`,
    code,
    starts: 1,
    output: options.output ?? 'inside',
    tool: (_, world) => work(`${world.base}/${outside}`, world),
    ...(options.written && { written: options.written }),
    twin: { tool: (_, world) => work(world.at(inside), world) },
  }
}

const callback = (name) => promisify((...args) => fs[name](...args))
const textOf = (stream) => new Response(Readable.toWeb(stream)).text()
const isDone = (value) => (value === undefined ? 'done' : 'done')
const done = { output: 'done' }
/** What is written inside, and where. */
const writes = (path = 'notes.txt', text = 'written') => ({
  output: 'done',
  inside: path,
  written: [path, text],
})
const gone = (path) => ({ output: 'done', inside: path, written: [path, undefined] })

const readers = [
  withPath('readFileSync', (path) => fs.readFileSync(path, 'utf8')),
  withPath('readFile', (path) => callback('readFile')(path, 'utf8')),
  withPath('promises.readFile', (path) => fs.promises.readFile(path, 'utf8')),
  withPath('openSync', (path) => {
    const fd = fs.openSync(path)
    const buffer = Buffer.alloc(6)
    fs.readSync(fd, buffer)
    fs.closeSync(fd)
    return buffer.toString()
  }),
  withPath('open', async (path) => {
    const fd = await callback('open')(path, 'r')
    const buffer = Buffer.alloc(6)
    await callback('read')(fd, buffer, 0, 6, 0)
    await callback('close')(fd)
    return buffer.toString()
  }),
  withPath('promises.open', async (path) => {
    const handle = await fs.promises.open(path)
    try {
      return await handle.readFile('utf8')
    } finally {
      await handle.close()
    }
  }),
  withPath('createReadStream', (path) => textOf(fs.createReadStream(path))),
  withPath('ReadStream', (path) => textOf(new fs.ReadStream(path))),
  withPath('openAsBlob', async (path) => (await fs.openAsBlob(path)).text()),
  withPath('readv', (path) => {
    const fd = fs.openSync(path)
    const buffer = Buffer.alloc(6)
    fs.readvSync(fd, [buffer])
    fs.closeSync(fd)
    return buffer.toString()
  }),
  withPath('bytes as a path', (path) => fs.readFileSync(Buffer.from(path), 'utf8')),
  withPath('a URL as a path', (path) => fs.readFileSync(pathToFileURL(path), 'utf8')),
  withPath('readdirSync', (path) => fs.readdirSync(path).join(), {
    outside: 'outside',
    inside: 'sub',
    output: 'deep.txt,abs,up'.split(',').toSorted().join(),
  }),
  withPath('readdir', async (path) => (await callback('readdir')(path)).join(), {
    outside: 'outside',
    inside: 'sub',
    output: 'abs,deep.txt,up',
  }),
  withPath(
    'promises.readdir',
    async (path) =>
      (await fs.promises.readdir(path, { withFileTypes: true }))
        .map((entry) => `${basename(entry.parentPath)}/${entry.name}`)
        .join(),
    { outside: 'outside', inside: 'sub', output: 'sub/abs,sub/deep.txt,sub/up' },
  ),
  withPath(
    'opendirSync',
    (path) => {
      const folder = fs.opendirSync(path)
      const { name } = folder.readSync()
      folder.closeSync()
      return typeof name
    },
    { outside: 'outside', inside: 'sub', output: 'string' },
  ),
  withPath(
    'opendir',
    async (path) => {
      const folder = await callback('opendir')(path)
      await folder.close()
      return basename(folder.path)
    },
    { outside: 'outside', inside: 'sub', output: 'sub' },
  ),
  withPath(
    'promises.opendir',
    async (path) => {
      const names = []
      for await (const { name } of await fs.promises.opendir(path)) names.push(name)
      return names.toSorted().join()
    },
    { outside: 'outside', inside: 'sub', output: 'abs,deep.txt,up' },
  ),
  withPath('statSync', (path) => fs.statSync(path).size, { output: 6 }),
  withPath('stat', async (path) => (await callback('stat')(path)).size, { output: 6 }),
  withPath('promises.stat', async (path) => (await fs.promises.stat(path)).size, { output: 6 }),
  withPath('lstatSync', (path) => fs.lstatSync(path).size, { output: 6 }),
  withPath('promises.lstat', async (path) => (await fs.promises.lstat(path)).size, { output: 6 }),
  withPath('accessSync', (path) => isDone(fs.accessSync(path)), done),
  withPath('promises.access', async (path) => isDone(await fs.promises.access(path)), done),
  withPath('statfsSync', (path) => typeof fs.statfsSync(path).bsize, { output: 'number' }),
  withPath('realpathSync', (path) => basename(fs.realpathSync(path)), { output: 'notes.txt' }),
  withPath('realpathSync.native', (path) => basename(fs.realpathSync.native(path)), {
    output: 'notes.txt',
  }),
  withPath('promises.realpath', async (path) => basename(await fs.promises.realpath(path)), {
    output: 'notes.txt',
  }),
  withPath('readlinkSync', (path) => fs.readlinkSync(path), {
    inside: 'inner-link',
    output: 'notes.txt',
  }),
  withPath('watch', (path) => isDone(fs.watch(path).close()), done),
  withPath(
    'watchFile',
    (path) =>
      isDone(
        fs.watchFile(path, () => {}),
        fs.unwatchFile(path),
      ),
    done,
  ),
  withPath(
    'promises.watch',
    async (path) => {
      const stop = new AbortController()
      const waiting = fs.promises.watch(path, { signal: stop.signal }).next()
      stop.abort()
      return waiting.catch((error) => {
        if (error.name === 'AbortError') return 'done'
        throw error
      })
    },
    done,
  ),
  withPath(
    'process.loadEnvFile',
    (path) => {
      process.loadEnvFile(path)
      return process.env.RETAKE_PATHS_INSIDE
    },
    { outside: 'outside/.env', inside: '.env' },
  ),
  withPath('require of data', (path) => createRequire(import.meta.url)(path).text, {
    outside: 'outside/secret.json',
    inside: 'data.json',
  }),
  withPath('cpSync from', (path, { at }) => isDone(fs.cpSync(path, at('copy.txt'))), {
    ...done,
    written: ['copy.txt', 'inside'],
  }),
  withPath(
    'promises.cp of a folder from',
    async (path, { at }) => isDone(await fs.promises.cp(path, at('copy'), { recursive: true })),
    { ...done, outside: 'outside', inside: 'empty' },
  ),
  withPath('copyFileSync from', (path, { at }) => isDone(fs.copyFileSync(path, at('copy.txt'))), {
    ...done,
    written: ['copy.txt', 'inside'],
  }),
  withPath(
    'promises.copyFile from',
    async (path, { at }) => isDone(await fs.promises.copyFile(path, at('copy.txt'))),
    { ...done, written: ['copy.txt', 'inside'] },
  ),
  withPath('renameSync from', (path, { at }) => isDone(fs.renameSync(path, at('moved.txt'))), {
    ...done,
    written: ['moved.txt', 'inside'],
  }),
  withPath('linkSync from', (path, { at }) => isDone(fs.linkSync(path, at('linked.txt'))), {
    ...done,
    written: ['linked.txt', 'inside'],
  }),
  withPath(
    'promises.link from',
    async (path, { at }) => isDone(await fs.promises.link(path, at('linked.txt'))),
    { ...done, written: ['linked.txt', 'inside'] },
  ),
  withPath('symlinkSync to', (path, { at }) => isDone(fs.symlinkSync(path, at('new-link'))), {
    ...done,
    written: ['new-link', 'inside'],
  }),
]

const writers = [
  withPath('writeFileSync', (path) => isDone(fs.writeFileSync(path, 'written')), writes()),
  withPath(
    'writeFile',
    async (path) => isDone(await callback('writeFile')(path, 'written')),
    writes(),
  ),
  withPath(
    'promises.writeFile',
    async (path) => isDone(await fs.promises.writeFile(path, 'written')),
    writes('new.txt'),
  ),
  withPath(
    'promises.writeFile of pieces',
    async (path) => isDone(await fs.promises.writeFile(path, ['writ', 'ten'])),
    writes('new.txt'),
  ),
  withPath(
    'appendFileSync',
    (path) => isDone(fs.appendFileSync(path, '!')),
    writes('notes.txt', 'inside!'),
  ),
  withPath(
    'promises.appendFile',
    async (path) => isDone(await fs.promises.appendFile(path, '!')),
    writes('notes.txt', 'inside!'),
  ),
  withPath(
    'createWriteStream',
    (path) =>
      new Promise((resolve, reject) => {
        fs.createWriteStream(path)
          .on('error', reject)
          .end('written', (error) => (error ? reject(error) : resolve('done')))
      }),
    writes(),
  ),
  withPath(
    'openSync that empties',
    (path) => isDone(fs.closeSync(fs.openSync(path, 'w'))),
    writes('notes.txt', ''),
  ),
  withPath('openSync that makes', (path) => isDone(fs.closeSync(fs.openSync(path, 'wx'))), {
    ...writes('new.txt', ''),
    outside: 'new.txt',
  }),
  withPath(
    'promises.open for both',
    async (path) => {
      const handle = await fs.promises.open(path, 'r+')
      await handle.write('W', 0)
      await handle.close()
      return 'done'
    },
    writes('notes.txt', 'Wnside'),
  ),
  withPath(
    'readFileSync with a flag that empties',
    (path) => isDone(fs.readFileSync(path, { flag: 'w+' })),
    writes('notes.txt', ''),
  ),
  withPath('truncateSync', (path) => isDone(fs.truncateSync(path, 2)), writes('notes.txt', 'in')),
  withPath(
    'promises.truncate',
    async (path) => isDone(await fs.promises.truncate(path, 2)),
    writes('notes.txt', 'in'),
  ),
  withPath('chmodSync', (path) => isDone(fs.chmodSync(path, 0o600)), done),
  withPath('promises.chmod', async (path) => isDone(await fs.promises.chmod(path, 0o600)), done),
  withPath(
    'chownSync',
    (path) => isDone(fs.chownSync(path, process.getuid(), process.getgid())),
    done,
  ),
  withPath('utimesSync', (path) => isDone(fs.utimesSync(path, 1, 1)), done),
  withPath('lutimesSync', (path) => isDone(fs.lutimesSync(path, 1, 1)), done),
  withPath('unlinkSync', (path) => isDone(fs.unlinkSync(path)), gone('notes.txt')),
  withPath('unlink', async (path) => isDone(await callback('unlink')(path)), gone('notes.txt')),
  withPath(
    'promises.unlink',
    async (path) => isDone(await fs.promises.unlink(path)),
    gone('notes.txt'),
  ),
  withPath('rmSync', (path) => isDone(fs.rmSync(path, { recursive: true, force: true })), {
    ...gone('sub'),
    outside: 'outside',
  }),
  withPath('promises.rm', async (path) => isDone(await fs.promises.rm(path, { recursive: true })), {
    ...gone('sub'),
    outside: 'outside',
  }),
  withPath('rmdirSync', (path) => isDone(fs.rmdirSync(path)), {
    ...gone('empty'),
    outside: 'my secrets',
  }),
  withPath('mkdirSync', (path) => isDone(fs.mkdirSync(path)), {
    ...done,
    outside: 'made',
    inside: 'made',
  }),
  ...Object.entries({
    mkdirSync: fs.mkdirSync,
    mkdir: callback('mkdir'),
    'promises.mkdir': fs.promises.mkdir,
  }).map(([name, mkdir]) =>
    withPath(
      `${name} of several`,
      async (path, { root }) => (await mkdir(path, { recursive: true }))?.slice(root.length),
      { output: '/made', outside: 'made/deep', inside: 'made/deep' },
    ),
  ),
  withPath('mkdtempSync', (path) => basename(fs.mkdtempSync(path)).length, {
    output: 10,
    outside: 'tmp-',
    inside: 'tmp-',
  }),
  withPath('promises.mkdtemp', async (path) => basename(await fs.promises.mkdtemp(path)).length, {
    output: 10,
    outside: 'tmp-',
    inside: 'tmp-',
  }),
  withPath('cpSync to', (path, { at }) => isDone(fs.cpSync(at('notes.txt'), path)), {
    ...writes('copy.txt', 'inside'),
    outside: 'copy.txt',
  }),
  withPath(
    'copyFileSync to',
    (path, { at }) => isDone(fs.copyFileSync(at('notes.txt'), path)),
    writes('sub/deep.txt', 'inside'),
  ),
  withPath('renameSync to', (path, { at }) => isDone(fs.renameSync(at('notes.txt'), path)), {
    ...writes('moved.txt', 'inside'),
    outside: 'moved.txt',
  }),
  withPath('linkSync to', (path, { at }) => isDone(fs.linkSync(at('notes.txt'), path)), {
    ...writes('linked.txt', 'inside'),
    outside: 'linked.txt',
  }),
  withPath('symlinkSync at', (path, { at }) => isDone(fs.symlinkSync(at('notes.txt'), path)), {
    ...writes('new-link', 'inside'),
    outside: 'new-link',
  }),
]

// ── tricks ──────────────────────────────────────────────────────────────────

const trick = (name, code, attack, twin, options = {}) => ({
  name,
  code,
  starts: 1,
  output: 'inside',
  tool: (_, world) => attack(world),
  twin: { tool: (_, world) => twin(world) },
  ...options,
})

const readInside = ({ at }) => fs.readFileSync(at('notes.txt'), 'utf8')
/** Taken before any guard was made, as a library might have. */
const early = { ...createRequire(import.meta.url)('node:fs') }
const earlyPromises = { ...fs.promises }

const openForWasm = (folder) => {
  const { WASI } = process.getBuiltinModule('node:wasi')
  return typeof new WASI({ version: 'preview1', preopens: { '/': folder } })
}

const tricks = [
  trick(
    'a link in the root, opened by the tool',
    'PATH_SYMLINK_ESCAPE',
    ({ at }) => fs.readFileSync(at('link.txt'), 'utf8'),
    ({ at }) => fs.readFileSync(at('inner-link'), 'utf8'),
  ),
  trick(
    'a folder in the root that is a link',
    'PATH_SYMLINK_ESCAPE',
    ({ at }) => fs.readFileSync(at('dirlink', 'secret.txt'), 'utf8'),
    ({ at }) => fs.readFileSync(at('sub/up'), 'utf8'),
  ),
  trick(
    'climbing from where a link led',
    'PATH_SYMLINK_ESCAPE',
    ({ root }) => fs.readFileSync(`${root}/dirlink/../secret.txt`, 'utf8'),
    ({ root }) => fs.readFileSync(`${root}/sub/../notes.txt`, 'utf8'),
  ),
  trick(
    'writing through a link that dangles',
    'PATH_SYMLINK_ESCAPE',
    ({ at }) => fs.writeFileSync(at('dangling'), 'written'),
    ({ at }) => (
      fs.writeFileSync(at('inner-dangling'), 'inside'),
      fs.readFileSync(at('fresh.txt'), 'utf8')
    ),
  ),
  trick(
    'a link that the tool makes itself',
    'PATH_OUTSIDE_ROOT',
    ({ at, base }) => (
      fs.symlinkSync(`${base}/secret.txt`, at('own')),
      fs.readFileSync(at('own'), 'utf8')
    ),
    ({ at }) => (fs.symlinkSync(at('notes.txt'), at('own')), fs.readFileSync(at('own'), 'utf8')),
  ),
  trick(
    'a relative link that the tool makes itself',
    'PATH_TRAVERSAL',
    ({ at }) => (
      fs.symlinkSync('../../secret.txt', at('sub/own')),
      fs.readFileSync(at('sub/own'), 'utf8')
    ),
    ({ at }) => (
      fs.symlinkSync('../notes.txt', at('sub/own')),
      fs.readFileSync(at('sub/own'), 'utf8')
    ),
  ),
  trick(
    'a link that leads out where it is moved to',
    'PATH_TRAVERSAL',
    ({ at }) => fs.renameSync(at('sub/up'), at('up')),
    ({ at }) => (
      fs.renameSync(at('sub/up'), at('empty/up')),
      fs.readFileSync(at('empty/up'), 'utf8')
    ),
  ),
  trick(
    'a link to the insides of the process',
    'PATH_DEVICE',
    ({ at }) => fs.symlinkSync('/proc/self/root', at('own')),
    readInside,
  ),
  trick(
    'a copy of a folder with links, followed',
    'PATH_SYMLINK_ESCAPE',
    ({ at }) => fs.cpSync(at('sub'), at('empty/copy'), { recursive: true, dereference: true }),
    ({ at }) => (
      fs.cpSync(at('one-name.txt'), at('empty/copy')),
      fs.readFileSync(at('empty/copy'), 'utf8')
    ),
  ),
  trick(
    'removing the root itself',
    'PATH_OUTSIDE_ROOT',
    ({ root }) => fs.rmSync(root, { recursive: true }),
    ({ at }) => (fs.rmSync(at('sub'), { recursive: true }), 'inside'),
  ),
  trick(
    'moving the root itself',
    'PATH_OUTSIDE_ROOT',
    ({ root, base }) => fs.renameSync(root, `${base}/moved`),
    ({ at }) => (
      fs.renameSync(at('sub'), at('moved')),
      fs.readFileSync(at('moved/deep.txt'), 'utf8')
    ),
  ),
  trick(
    'moving to another folder first',
    'PATH_CHDIR',
    ({ base }) => (process.chdir(base), fs.readFileSync('secret.txt', 'utf8')),
    () => fs.readFileSync('notes.txt', 'utf8'),
  ),
  trick(
    'a folder that is opened for WebAssembly',
    'PATH_OUTSIDE_ROOT',
    ({ base }) => openForWasm(base),
    ({ root }) => (openForWasm(root), 'inside'),
  ),
  trick(
    'a heap snapshot',
    'PATH_OUTSIDE_ROOT',
    ({ base }) => process.getBuiltinModule('v8').writeHeapSnapshot(`${base}/heap`),
    readInside,
  ),
  trick(
    'a heap snapshot at a URL',
    'PATH_OUTSIDE_ROOT',
    ({ base }) => process.getBuiltinModule('v8').writeHeapSnapshot(pathToFileURL(`${base}/heap`)),
    readInside,
  ),
  trick(
    'bytes that are no text',
    'PATH_UNSEEN',
    ({ base }) => fs.readFileSync(Buffer.concat([Buffer.from(`${base}/`), Buffer.from([0xff])])),
    ({ at }) => fs.readFileSync(Buffer.from(at('notes.txt')), 'utf8'),
  ),
  trick(
    'a flag that changes',
    'PATH_OUTSIDE_ROOT',
    ({ base }) =>
      fs.readFileSync(`${base}/secret.txt`, {
        get flag() {
          return Math.random() > 0.5 ? 'r' : 'w+'
        },
      }),
    ({ at }) =>
      fs.readFileSync(at('notes.txt'), {
        encoding: 'utf8',
        get flag() {
          return 'r'
        },
      }),
  ),
  trick(
    'pieces that read elsewhere',
    'PATH_OUTSIDE_ROOT',
    ({ at, base }) =>
      fs.promises.writeFile(
        at('new.txt'),
        (function* () {
          yield fs.readFileSync(`${base}/secret.txt`)
        })(),
      ),
    async ({ at }) => (
      await fs.promises.writeFile(
        at('new.txt'),
        (function* () {
          yield fs.readFileSync(at('notes.txt'))
        })(),
      ),
      fs.readFileSync(at('new.txt'), 'utf8')
    ),
  ),
  trick(
    'a signal that reads elsewhere',
    'PATH_OUTSIDE_ROOT',
    ({ at, base }) =>
      new Promise((resolve, reject) => {
        fs.readFile(
          at('notes.txt'),
          {
            signal: {
              get aborted() {
                try {
                  resolve(fs.readFileSync(`${base}/secret.txt`, 'utf8'))
                } catch (error) {
                  reject(error)
                }
                return false
              },
              addEventListener() {},
              removeEventListener() {},
            },
          },
          () => {},
        )
      }),
    ({ at }) =>
      fs.promises.readFile(at('notes.txt'), {
        encoding: 'utf8',
        signal: new AbortController().signal,
      }),
  ),
  trick(
    'in a callback',
    'PATH_OUTSIDE_ROOT',
    ({ at, base }) =>
      new Promise((resolve, reject) =>
        fs.readFile(at('notes.txt'), () =>
          fs.promises.readFile(`${base}/secret.txt`, 'utf8').then(resolve, reject),
        ),
      ),
    ({ at }) =>
      new Promise((resolve, reject) =>
        fs.readFile(at('notes.txt'), () =>
          fs.promises.readFile(at('notes.txt'), 'utf8').then(resolve, reject),
        ),
      ),
  ),
  trick(
    'in a timer',
    'PATH_OUTSIDE_ROOT',
    ({ base }) =>
      new Promise((resolve, reject) =>
        setTimeout(
          () => fs.promises.readFile(`${base}/secret.txt`, 'utf8').then(resolve, reject),
          1,
        ),
      ),
    ({ at }) =>
      new Promise((resolve, reject) =>
        setTimeout(() => fs.promises.readFile(at('notes.txt'), 'utf8').then(resolve, reject), 1),
      ),
  ),
  trick(
    'a function with the name of a part of Node',
    'PATH_OUTSIDE_ROOT',
    ({ base }) =>
      vm.runInThisContext('(fs, path) => fs.readFileSync(path, "utf8")', {
        filename: 'node:internal/modules/cjs/loader',
      })(fs, `${base}/secret.txt`),
    ({ at }) =>
      vm.runInThisContext('(fs, path) => fs.readFileSync(path, "utf8")', {
        filename: 'node:internal/modules/cjs/loader',
      })(fs, at('notes.txt')),
  ),
  trick(
    'a descriptor from before',
    'PATH_OUTSIDE_ROOT',
    ({ before: fd }) => fs.readFileSync(fd, 'utf8'),
    ({ before: fd }) => fs.readFileSync(fd, 'utf8'),
    {
      before: ({ base }) => fs.openSync(`${base}/secret.txt`),
      twinBefore: ({ at }) => fs.openSync(at('notes.txt')),
    },
  ),
  trick(
    'writing to a descriptor from before',
    'PATH_OUTSIDE_ROOT',
    ({ before: fd }) => fs.writeSync(fd, 'written'),
    ({ before: fd, at }) => (fs.writeSync(fd, 'inside'), fs.readFileSync(at('notes.txt'), 'utf8')),
    {
      before: ({ base }) => fs.openSync(`${base}/secret.txt`, 'r+'),
      twinBefore: ({ at }) => fs.openSync(at('notes.txt'), 'r+'),
    },
  ),
  trick(
    'a descriptor by its path',
    'PATH_DEVICE',
    ({ before: fd }) => fs.readFileSync(`/proc/self/fd/${fd}`, 'utf8'),
    readInside,
    { before: ({ base }) => fs.openSync(`${base}/secret.txt`) },
  ),
  trick(
    'a descriptor by its device',
    'PATH_DEVICE',
    ({ before: fd }) => fs.readFileSync(`/dev/fd/${fd}`, 'utf8'),
    readInside,
    { before: ({ base }) => fs.openSync(`${base}/secret.txt`) },
  ),
  trick(
    'a function that was taken before the guard',
    'PATH_OUTSIDE_ROOT',
    ({ base }) => early.readFileSync(`${base}/secret.txt`, 'utf8'),
    ({ at }) => early.readFileSync(at('notes.txt'), 'utf8'),
  ),
  trick(
    'a promise that was taken before the guard',
    'PATH_OUTSIDE_ROOT',
    ({ base }) => earlyPromises.readFile(`${base}/secret.txt`, 'utf8'),
    ({ at }) => earlyPromises.readFile(at('notes.txt'), 'utf8'),
  ),
  trick(
    'writing with a function that was taken before the guard',
    'PATH_OUTSIDE_ROOT',
    ({ base }) => early.writeFileSync(`${base}/secret.txt`, 'written'),
    ({ at }) => (
      early.writeFileSync(at('new.txt'), 'inside'),
      early.readFileSync(at('new.txt'), 'utf8')
    ),
  ),
  trick(
    'importing data',
    'PATH_OUTSIDE_ROOT',
    async ({ base }) =>
      JSON.stringify(
        (
          await import(`${pathToFileURL(`${base}/outside/secret.json`).href}?${Math.random()}`, {
            with: { type: 'json' },
          })
        ).default,
      ),
    async ({ at }) =>
      (
        await import(`${pathToFileURL(at('data.json')).href}?${Math.random()}`, {
          with: { type: 'json' },
        })
      ).default.text,
  ),
  trick(
    'a run that is recorded inside of the tool',
    'PATH_OUTSIDE_ROOT',
    async ({ base, retake }) =>
      (
        await retake.record({ name: 'inner', dir: `${base}/root/runs` }, () =>
          fs.readFileSync(`${base}/secret.txt`, 'utf8'),
        )
      ).output,
    async ({ base, at, retake }) =>
      (
        await retake.record({ name: 'inner', dir: `${base}/root/runs` }, () =>
          fs.readFileSync(at('notes.txt'), 'utf8'),
        )
      ).output,
  ),
  trick(
    'a guard with wider bounds inside of the tool',
    'PATH_OUTSIDE_ROOT',
    async ({ base, retake }) => {
      const wide = retake.guard({ name: 'wide', dir: `${base}/root/runs`, durability: 'process' })
      const read = wide.tool('read', ({ path }) => fs.readFileSync(path.join('/'), 'utf8'))
      return read({ path: `${base}/secret.txt`.split('/') })
    },
    async ({ base, at, retake }) => {
      const wide = retake.guard({ name: 'wide', dir: `${base}/root/runs`, durability: 'process' })
      const read = wide.tool('read', ({ path }) => fs.readFileSync(path.join('/'), 'utf8'))
      return read({ path: at('notes.txt').split('/') })
    },
  ),
]

// ── other policies ──────────────────────────────────────────────────────────

/** Its rules would keep the tool, which declares nothing, from starting at all. */
const readOnlyScopes = ({ retake }) => ({ ...retake.presets.readOnly(), rules: [] })

const policies = [
  trick(
    'writing where everything may only be read',
    'WRITE_NOT_ALLOWED',
    ({ at }) => fs.writeFileSync(at('notes.txt'), 'written'),
    readInside,
    { policy: readOnlyScopes, rule: 'readOnly/files' },
  ),
  trick(
    'removing where everything may only be read',
    'WRITE_NOT_ALLOWED',
    ({ at }) => fs.unlinkSync(at('notes.txt')),
    readInside,
    { policy: readOnlyScopes, rule: 'readOnly/files' },
  ),
  trick(
    'writing in a folder that may only be read',
    'WRITE_NOT_ALLOWED',
    ({ at }) => fs.writeFileSync(at('notes.txt'), 'written'),
    ({ at }) => (
      fs.writeFileSync(at('sub/new.txt'), 'inside'),
      fs.readFileSync(at('sub/new.txt'), 'utf8')
    ),
    {
      policy: ({ root }) => ({ name: 'sandbox', files: { read: [root], write: [`${root}/sub`] } }),
    },
  ),
  trick(
    'reading in a folder that may only be written',
    'READ_NOT_ALLOWED',
    ({ at }) => fs.readFileSync(at('sub/deep.txt'), 'utf8'),
    ({ at }) => fs.readFileSync(at('notes.txt'), 'utf8'),
    {
      policy: ({ root }) => ({
        name: 'sandbox',
        files: { read: [`${root}/notes.txt`], write: [root] },
      }),
    },
  ),
  trick(
    'reading where nothing may be read',
    'READ_NOT_ALLOWED',
    readInside,
    ({ at }) => (fs.writeFileSync(at('new.txt'), 'inside'), 'inside'),
    { policy: ({ root }) => ({ name: 'sandbox', files: { read: [], write: [root] } }) },
  ),
  trick(
    'outside of a root that is given as a link',
    'PATH_OUTSIDE_ROOT',
    ({ base }) => fs.readFileSync(`${base}/secret.txt`, 'utf8'),
    readInside,
    {
      policy: ({ root, base, retake }) => (
        fs.symlinkSync(root, `${base}/entrance`),
        retake.presets.sandbox({ root: `${base}/entrance` })
      ),
    },
  ),
  trick(
    'outside of a root that is given as a URL',
    'PATH_OUTSIDE_ROOT',
    ({ base }) => fs.readFileSync(`${base}/secret.txt`, 'utf8'),
    readInside,
    { policy: ({ root, retake }) => retake.presets.sandbox({ root: pathToFileURL(root).href }) },
  ),
  trick(
    'outside of a relative root',
    'PATH_OUTSIDE_ROOT',
    ({ base }) => fs.readFileSync(`${base}/secret.txt`, 'utf8'),
    readInside,
    { policy: ({ retake }) => retake.presets.sandbox({ root: '.' }) },
  ),
  trick(
    'inside of one root and outside of the other policy',
    'PATH_OUTSIDE_ROOT',
    readInside,
    ({ at }) => fs.readFileSync(at('sub/deep.txt'), 'utf8'),
    {
      policy: ({ root, retake }) => [
        retake.presets.sandbox({ root }),
        retake.presets.sandbox({ root: `${root}/sub` }),
      ],
    },
  ),
]

export const cases = [
  ...argumentAttacks,
  ...disguises,
  ...readers,
  ...writers,
  ...tricks,
  ...policies,
]
