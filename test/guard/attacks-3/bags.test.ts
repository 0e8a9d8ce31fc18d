import fs from 'node:fs'
import net, { type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { guard, type GuardRun } from '@retake/guard'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { hasSandbox } from '../../support/has-sandbox.js'

/**
 * A tool that passes all its arguments on to one function of `node:fs`, so that the model chooses
 * every option, too. `in` may be read and written, `read` only read, and `out` is outside.
 */
process.execArgv = []
const SECRET = 'TOP SECRET'
const folder = fs.realpathSync(fs.mkdtempSync('/tmp/retake-bags-'))
const at = (name: string): string => join(folder, name)

function fill(): void {
  // The folders themselves stay, because a sandbox has mounted them.
  for (const name of ['in', 'read', 'out'])
    for (const each of fs.existsSync(at(name)) ? fs.readdirSync(at(name)) : [])
      fs.rmSync(at(`${name}/${each}`), { recursive: true, force: true })
  for (const name of ['in/a/b', 'read', 'out/deep', 'in/copy/way'])
    fs.mkdirSync(at(name), { recursive: true })
  fs.writeFileSync(at('out/secret.txt'), SECRET)
  fs.writeFileSync(at('out/.env'), `RETAKE_BAG='${SECRET}'`)
  fs.writeFileSync(at('out/deep/secret-name.txt'), SECRET)
  fs.writeFileSync(at('read/data.txt'), 'data')
  fs.writeFileSync(at('in/own.txt'), 'own')
  fs.writeFileSync(at('in/copy/way/planted.txt'), 'planted')
  fs.symlinkSync('../out', at('in/way'))
  fs.symlinkSync('../out/secret.txt', at('in/hole'))
  fs.symlinkSync('../out/new.txt', at('in/dangling'))
  fs.symlinkSync('../in', at('read/back'))
  fs.mkdirSync(at('in/target'))
  fs.symlinkSync('../../out', at('in/target/way'))
}

/** Names, kinds, modes and contents below the folders that no call may change. */
function stateOf(name: string): string {
  const stats = fs.lstatSync(at(name))
  const kind = `${name} ${stats.mode} ${stats.nlink} ${stats.isDirectory() ? '' : stats.mtimeMs}`
  if (!stats.isDirectory())
    return stats.isFile() ? `${kind} ${fs.readFileSync(at(name), 'utf8')}` : kind
  return [kind, ...fs.readdirSync(at(name)).map((each) => stateOf(`${name}/${each}`))].join('\n')
}

/** Code of a sandboxed tool that does the same. */
const MODULE = `import fs from 'node:fs'
export default async ({ name, packed }) => {
  const args = JSON.parse(Buffer.from(packed, 'base64').toString())
  const found = name.startsWith('promises ') ? await fs.promises[name.slice(9)](...args) : fs[name](...args)
  return Buffer.isBuffer(found) ? String(found) : typeof found === 'object' ? JSON.stringify(found) : found
}`

let run: GuardRun
/** A connection that the program has opened, and what its server received. */
let connection: net.Socket
let received = ''
const server = net.createServer((socket) => {
  socket.on('data', (data) => (received += String(data)))
  socket.on('error', () => {})
})

beforeAll(async () => {
  fill()
  await new Promise<void>((done) => void server.listen(0, '127.0.0.1', () => done()))
  connection = net.connect((server.address() as AddressInfo).port, '127.0.0.1')
  await new Promise((done) => connection.once('connect', done))
  run = guard({
    name: 'bags',
    dir: at('tapes'),
    durability: 'process',
    policy: { name: 'files', files: { read: [at('in'), at('read')], write: [at('in')] } },
    limits: { timeoutMs: 2000 },
  })
  run.tool('fs', ({ name, args }: { name: string; args: unknown[] }) => use(name, args))
  // The same arguments in a form in which nobody finds paths before the tool starts.
  run.tool('packed', ({ packed }: { packed: string }) => {
    const { name, args } = JSON.parse(Buffer.from(packed, 'base64').toString()) as {
      readonly name: string
      readonly args: unknown[]
    }
    return use(name, args)
  })
  fs.mkdirSync(at('tool'))
  fs.writeFileSync(at('tool/bag.mjs'), MODULE)
  if (hasSandbox) run.tool('module', { module: at('tool/bag.mjs'), sandbox: true })
  await run.call('fs', { name: 'readFileSync', args: [at('in/own.txt')] })
})
afterAll(() => {
  run.end()
  connection.destroy()
  server.close()
  fs.rmSync(folder, { recursive: true, force: true })
})

type Loose = Record<string, (...args: unknown[]) => unknown>

async function use(name: string, given: unknown[]): Promise<unknown> {
  const args = given.map((each) =>
    typeof each === 'string' && each.startsWith('file:') ? new URL(each) : each,
  )
  if (name === 'read stream' || name === 'write stream') {
    const stream =
      name === 'read stream'
        ? (fs.createReadStream as Function)(...args)
        : (fs.createWriteStream as Function)(...args)
    if (name === 'write stream') {
      const writable = stream as fs.WriteStream
      await new Promise((done, fail) => writable.on('error', fail).end('changed', () => done(0)))
      return undefined
    }
    let text = ''
    for await (const chunk of stream as AsyncIterable<unknown>) text += String(chunk)
    return text
  }
  if (name === 'listen')
    return new Promise((resolve, reject) => {
      const listening = net.createServer()
      listening.on('error', reject)
      listening.listen(...(args as [string]), () => {
        listening.close()
        resolve('listening')
      })
    })
  if (name === 'loadEnvFile') {
    process.loadEnvFile(args[0] as string)
    return process.env['RETAKE_BAG']
  }
  if (name === 'blob') return (await fs.openAsBlob(args[0] as string)).text()
  if (name === 'open') {
    const fd = fs.openSync(...(args as [string, string]))
    try {
      return fs.readFileSync(fd, 'utf8')
    } finally {
      fs.closeSync(fd)
    }
  }
  if (name === 'watch') {
    const watcher = fs.watch(args[0] as string, args[1] as object)
    watcher.close()
    return 'watching a secret-name'
  }
  const [, kind = 'sync', method = ''] = /^(?:(promises|callback) )?(.+)$/.exec(name) ?? []
  if (kind === 'promises') {
    const found = await ((fs.promises as unknown as Loose)[method] as Function)(...args)
    if (typeof (found as AsyncIterable<unknown>)?.[Symbol.asyncIterator] !== 'function')
      return show(found)
    const names: unknown[] = []
    for await (const each of found as AsyncIterable<unknown>) names.push(show(each))
    return names
  }
  return show(((fs as unknown as Loose)[method] as Function)(...args))
}

const show = (value: unknown): unknown =>
  value instanceof fs.Dir
    ? (value.readSync()?.name ?? '')
    : Buffer.isBuffer(value)
      ? String(value)
      : value

type Args = unknown[] | (() => unknown[])
type Case = readonly [name: string, args: Args, twin?: Args]
const socketFd = (): number => (connection as unknown as { _handle: { fd: number } })._handle.fd

/** Opens a file as the program, outside of any call. */
const opened = (name: string, flags: string): number => {
  const fd = fs.openSync(at(name), flags)
  onTestFinished(() => {
    try {
      fs.closeSync(fd)
    } catch {
      // A stream closes its descriptor, even if the tool may not use it.
    }
  })
  return fd
}
const { O_TRUNC, O_CREAT, O_RDONLY, O_NOFOLLOW, O_DIRECTORY } = fs.constants
const O_TMPFILE = 0o20200000
const O_PATH = 0o10000000
const recursive = { recursive: true }
const url = (name: string): string => pathToFileURL(at(name)).href
const up = (count: number): string => `${at('in')}${'/../in'.repeat(count)}`

const CASES: readonly Case[] = [
  // What a path can look like.
  ['readFileSync', [`${up(400)}/../out/secret.txt`], [`${up(400)}/own.txt`]],
  ['readFileSync', [`${at('in')}//.//..//out//secret.txt`], [`${at('in')}//.//own.txt`]],
  [
    'readFileSync',
    [`file://${at('in')}/%2e%2e/out/secret.txt`],
    [`file://${at('in')}/%2e/own.txt`],
  ],
  [
    'readFileSync',
    [`file://localhost${at('out/secret.txt')}`],
    [`file://localhost${at('in/own.txt')}`],
  ],
  ['readFileSync', [url('in/hole')]],
  ['readFileSync', [`/proc/self/root${at('out/secret.txt')}`]],
  ['readFileSync', [`/proc/thread-self/root${at('out/secret.txt')}`]],
  ['readFileSync', [`/proc/${process.pid}/task/${process.pid}/root${at('out/secret.txt')}`]],
  ['readFileSync', ['/proc/self/environ']],
  ['readFileSync', ['/proc/self/maps']],
  ['readdirSync', ['/proc/self/fd']],
  ['readlinkSync', ['/proc/self/exe']],
  ['readFileSync', () => [`/proc/self/fd/${opened('out/secret.txt', 'r')}`]],
  ['readFileSync', () => [`/dev/fd/${opened('out/secret.txt', 'r')}`]],
  ['readFileSync', () => [`/proc/self/fd/${opened('out/secret.txt', 'r')}/../secret.txt`]],
  // Descriptors that the model guesses.
  ['readFileSync', () => [opened('out/secret.txt', 'r')], () => [opened('in/own.txt', 'r')]],
  ['readSync', () => [opened('out/secret.txt', 'r'), { 0: 0 }]],
  [
    'read stream',
    () => [at('in/own.txt'), { fd: opened('out/secret.txt', 'r') }],
    () => [at('in/own.txt'), { start: 0 }],
  ],
  [
    'write stream',
    () => [at('in/own.txt'), { fd: opened('out/secret.txt', 'r+') }],
    () => [at('in/own.txt'), { flags: 'r+' }],
  ],
  [
    'writeFileSync',
    () => [opened('out/secret.txt', 'r+'), 'changed'],
    () => [opened('in/own.txt', 'r+'), 'changed'],
  ],
  ['truncateSync', () => [opened('out/secret.txt', 'r+'), 0]],
  ['ftruncateSync', () => [opened('out/secret.txt', 'r+'), 0]],
  ['fchmodSync', () => [opened('out/secret.txt', 'r+'), 0o777]],
  ['futimesSync', () => [opened('out/secret.txt', 'r+'), 1, 1]],
  ['appendFileSync', () => [socketFd(), 'smuggled']],
  ['writeFileSync', () => [socketFd(), 'smuggled']],
  ['writeSync', () => [socketFd(), 'smuggled']],
  ['promises appendFile', () => [`/proc/self/fd/${socketFd()}`, 'smuggled']],
  ['write stream', () => [at('in/own.txt'), { fd: socketFd() }]],
  // Flags that write in a folder that may only be read.
  ['open', [at('read/data.txt'), O_RDONLY | O_TRUNC], [at('read/data.txt'), O_RDONLY | O_NOFOLLOW]],
  ['open', [at('read/new.txt'), O_RDONLY | O_CREAT]],
  ['open', [at('read/data.txt'), 3]],
  ['open', [at('read'), O_TMPFILE | 2]],
  ['open', [at('out/secret.txt'), O_PATH]],
  ['open', [at('in/hole'), O_PATH]],
  ['open', [at('in/hole'), O_NOFOLLOW]],
  ['open', [at('in/way'), O_DIRECTORY]],
  ['open', [at('read/data.txt'), 'rs+'], [at('read/data.txt'), 'rs']],
  ['open', [at('read/new.txt'), 'ax+']],
  ['readFileSync', [at('read/data.txt'), { flag: 'w+' }], [at('read/data.txt'), { flag: 'r' }]],
  ['readFileSync', [at('read/data.txt'), { encoding: 'utf8', flag: 'w+' }]],
  ['readFileSync', [at('read/new.txt'), { encoding: 'utf8', flag: 'a+' }]],
  [
    'promises readFile',
    [at('read/data.txt'), { flag: 'w+' }],
    [at('read/data.txt'), { encoding: 'utf8' }],
  ],
  ['promises readFile', [at('read/new.txt'), { flag: O_CREAT }]],
  ['read stream', [at('read/data.txt'), { flags: 'w+' }]],
  ['writeFileSync', [at('in/dangling'), 'x', { flag: 'wx' }]],
  ['writeFileSync', [at('in/dangling'), 'x']],
  ['appendFileSync', [at('in/dangling'), 'x', { flag: 'a', mode: 0o777 }]],
  ['writeFileSync', [at('read/back/../../out/new.txt'), 'x'], [at('read/back/new.txt'), 'x']],
  // Copies and moves.
  [
    'cpSync',
    [at('in/way'), at('in/c'), { recursive: true, dereference: true }],
    [at('in/a'), at('in/c'), recursive],
  ],
  ['cpSync', [at('in'), at('in/../in2'), recursive]],
  ['cpSync', [at('in/copy'), at('in/target'), recursive], [at('in/copy'), at('in/a'), recursive]],
  ['cpSync', [at('in/copy'), at('in/target'), { ...recursive, force: true, errorOnExist: false }]],
  [
    'promises cp',
    [at('in/copy'), at('in/target'), recursive],
    [at('in/copy'), at('in/a'), recursive],
  ],
  ['promises cp', [at('in/way/deep'), at('in/c'), { ...recursive, dereference: true }]],
  ['cpSync', [at('in/hole'), at('in/c'), { verbatimSymlinks: true }]],
  ['cpSync', [at('in/own.txt'), at('in/dangling')]],
  ['copyFileSync', [at('in/own.txt'), at('in/dangling')], [at('in/own.txt'), at('in/b')]],
  ['copyFileSync', [at('in/hole'), at('in/c'), 4]],
  ['promises copyFile', [at('in/own.txt'), at('in/hole'), 2]],
  ['renameSync', [at('in/way/secret.txt'), at('in/c')], [at('in/own.txt'), at('in/c')]],
  ['renameSync', [at('in/own.txt'), at('in/way/c')]],
  ['renameSync', [at('in/way/'), at('in/c')]],
  ['renameSync', [at('in/hole'), at('in/a/hole')]],
  ['linkSync', [at('in/hole'), at('in/c')], [at('in/own.txt'), at('in/c')]],
  ['linkSync', [at('in/own.txt'), at('out/c')]],
  ['linkSync', [at('read/data.txt'), at('in/c')]],
  ['symlinkSync', ['../../out/secret.txt', at('in/a/c')]],
  ['symlinkSync', [at('out'), at('in/c'), 'junction']],
  ['symlinkSync', ['none/../../out', at('in/c')]],
  ['symlinkSync', [url('out/secret.txt'), at('in/c')]],
  ['symlinkSync', ['way/secret.txt', at('in/c')]],
  // Removal through a link.
  ['rmSync', [at('in/way/'), recursive], [at('in/a/'), recursive]],
  ['rmSync', [at('in/way/.'), recursive]],
  ['rmSync', [at('in/target/'), recursive], [at('in/copy'), recursive]],
  ['promises rm', [at('in/way/'), { ...recursive, force: true, maxRetries: 2 }]],
  ['rmdirSync', [at('in/way/deep'), recursive]],
  ['unlinkSync', [at('in/way/secret.txt')], [at('in/own.txt')]],
  ['rmSync', [at('read/back/../../out'), recursive]],
  ['mkdirSync', [at('in/way/new/folder'), recursive], [at('in/new/folder'), recursive]],
  ['mkdirSync', [at('in/dangling/x'), recursive]],
  ['mkdtempSync', [at('in/way/x')], [at('in/x')]],
  ['mkdtempSync', [`${at('in')}/../out/x`]],
  // Attributes.
  ['chmodSync', [at('in/hole'), 0o777], [at('in/own.txt'), 0o600]],
  ['lchownSync', [at('out/secret.txt'), 1, 1]],
  ['utimesSync', [at('in/hole'), 1, 1], [at('in/own.txt'), 1, 1]],
  ['lutimesSync', [at('out/secret.txt'), 1, 1], [at('in/own.txt'), 1, 1]],
  ['truncateSync', [at('in/hole'), 0], [at('in/own.txt'), 1]],
  ['truncateSync', [at('read/data.txt'), 2]],
  // Names of files.
  ['readdirSync', [at('in'), recursive], [at('in/a'), recursive]],
  ['promises readdir', [at('in/way'), { withFileTypes: true }]],
  ['opendirSync', [at('in/way'), recursive], [at('in/copy')]],
  ['promises opendir', [at('in/way/deep')], [at('in/copy')]],
  ['watch', [at('in/way'), recursive]],
  ['watch', [at('in/../out'), { persistent: false }]],
  ['blob', [at('in/hole')], [at('in/own.txt')]],
  ['loadEnvFile', [at('out/.env')]],
  ['loadEnvFile', [at('in/way/.env')]],
  ['listen', [at('out/socket')], [at('in/socket')]],
  ['listen', [{ path: at('in/way/socket') }]],
  ['listen', [{ path: at('read/socket'), readableAll: true }]],
]

if (typeof (fs as { globSync?: unknown }).globSync === 'function')
  for (const pattern of [
    '.{.,}/out/deep/*',
    '[.][.]/out/deep/*',
    '@(..)/out/deep/*',
    'way/deep/*',
    '**/deep/*',
  ])
    (CASES as Case[]).push(['globSync', [pattern, { cwd: at('in') }], ['*', { cwd: at('in') }]])

const titled = CASES.map((each, index): [string, Case] => [
  `${index + 1}: ${each[0]} ${JSON.stringify(typeof each[1] === 'function' ? String(each[1]).slice(0, 90) : each[1]).slice(0, 110)}`,
  each,
])
const argsOf = (args: Args): unknown[] => (typeof args === 'function' ? args() : args)

const packed = (args: unknown): string => Buffer.from(JSON.stringify(args)).toString('base64')
type Form = readonly [string, (name: string, args: unknown[]) => [string, object]]
const FORMS: readonly Form[] = [
  ['as it is', (name, args) => ['fs', { name, args }]],
  ['packed', (name, args) => ['packed', { packed: packed({ name, args }) }]],
]
const IN_SANDBOX: Form = [
  'in a sandbox',
  (name, args) => ['module', { name, packed: packed(args) }],
]
/** Descriptors and streams of this process do not exist in a sandbox, and `/proc` is its own. */
const canBeModule = (name: string, args: Args): boolean =>
  hasSandbox && Array.isArray(args) && /^promises|Sync$/.test(name) && !/proc/.test(String(args[0]))

test.for(titled)('a model reaches nothing outside with %s', async ([, [name, args]]) => {
  for (const [form, callOf] of canBeModule(name, args) ? [...FORMS, IN_SANDBOX] : FORMS) {
    fill()
    received = ''
    const before = ['out', 'read'].map(stateOf)
    const beside = fs.readdirSync(folder)
    const given = argsOf(args)
    const result = await run.call(...callOf(name, given))
    await new Promise((done) => setTimeout(done, String(args).includes('socketFd') ? 10 : 0))
    delete process.env['RETAKE_BAG']
    const output = JSON.stringify(result.output ?? '')
    expect(output, form).not.toMatch(/TOP SECRET|secret-name|PATH=|\/node|listening/)
    expect(['out', 'read'].map(stateOf), form).toEqual(before)
    expect(fs.readdirSync(folder), form).toEqual(beside)
    expect(received, form).toBe('')
    for (const made of ['in/c', 'in/a/c', 'in/a/hole']) {
      const seen = await run.call('fs', { name: 'readFileSync', args: [at(made), 'utf8'] })
      expect(String(seen.output), form).not.toMatch(/TOP SECRET|^data$/)
    }
  }
})

const twins = titled.filter(([, [, , twin]]) => twin !== undefined)
test.for(twins)('a benign call like it works: %s', async ([, [name, , twin]]) => {
  fill()
  const isModule = canBeModule(name, twin ?? []) && !String(twin).includes('file:')
  const sandboxed = isModule && (await run.call('module', { name, packed: packed(twin) }))
  expect(sandboxed || { status: 'done' }, 'in a sandbox').toMatchObject({ status: 'done' })
  fill()
  const result = await run.call('fs', { name, args: argsOf(twin ?? []) })
  expect({ status: result.status, error: result.error }).toEqual({
    status: 'done',
    error: undefined,
  })
})
