/** Tools around modules of Node. */
import { execFile, execFileSync, spawn } from 'node:child_process'
import { createHash, randomUUID, scryptSync } from 'node:crypto'
import { lookup } from 'node:dns/promises'
import { once } from 'node:events'
import {
  createReadStream,
  createWriteStream,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  watch,
  writeFileSync,
} from 'node:fs'
import fs from 'node:fs/promises'
import http from 'node:http'
import net from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { pipeline } from 'node:stream/promises'
import { promisify } from 'node:util'
import vm from 'node:vm'
import { createGunzip, createGzip, gzipSync } from 'node:zlib'

export const servers = ['http']

export const readFile = ({ file }) => readFileSync(file, 'utf8')

export async function writeNote({ file, text }) {
  await fs.mkdir(path.dirname(file), { recursive: true })
  await fs.writeFile(file, text)
  await fs.appendFile(file, '!')
  return fs.readFile(file, 'utf8')
}

export async function listFiles({ folder }) {
  const entries = await fs.readdir(folder, { recursive: true, withFileTypes: true })
  return entries.filter((each) => each.isFile()).length
}

export async function searchFiles({ folder, text }) {
  const hits = []
  for await (const entry of await fs.opendir(folder, { recursive: true })) {
    if (!entry.isFile()) continue
    const file = path.join(entry.parentPath ?? entry.path, entry.name)
    if ((await fs.readFile(file, 'utf8')).includes(text)) hits.push(entry.name)
  }
  return hits
}

export async function editFile({ file, from, to }) {
  const copy = path.join('work/out', path.basename(file))
  await fs.copyFile(file, copy)
  const text = await fs.readFile(copy, 'utf8')
  const draft = `${copy}.${randomUUID()}.tmp`
  await fs.writeFile(draft, text.replaceAll(from, to))
  await fs.rename(draft, copy)
  return fs.readFile(copy, 'utf8')
}

export async function compressFile({ file }) {
  const packed = path.join('work/out', `${path.basename(file)}.gz`)
  await pipeline(createReadStream(file), createGzip(), createWriteStream(packed))
  const hash = createHash('sha256')
  await pipeline(createReadStream(packed), createGunzip(), hash)
  return hash.digest('hex').slice(0, 8)
}

export async function countLines({ file }) {
  let lines = 0
  for await (const _ of createInterface({ input: createReadStream(file) })) lines++
  return lines
}

export async function removeFolder({ folder }) {
  await fs.mkdir(path.join(folder, 'a/b'), { recursive: true })
  writeFileSync(path.join(folder, 'a/b/c.txt'), 'x')
  await fs.cp(folder, `${folder}-copy`, { recursive: true })
  const { size } = await fs.stat(path.join(`${folder}-copy`, 'a/b/c.txt'))
  rmSync(folder, { recursive: true })
  await fs.rm(`${folder}-copy`, { recursive: true, force: true })
  return [size, existsSync(folder)]
}

export function scratchFolder({ folder, text }) {
  const scratch = mkdtempSync(path.join(folder, 'scratch-'))
  writeFileSync(path.join(scratch, 'x'), text)
  const back = readFileSync(path.join(scratch, 'x'), 'utf8')
  rmSync(scratch, { recursive: true })
  return back
}

export async function watchFolder({ folder }) {
  const watcher = watch(folder)
  const changed = once(watcher, 'change')
  setTimeout(() => writeFileSync(path.join(folder, 'watched.txt'), 'x'), 50)
  const [, name] = await changed
  watcher.close()
  return name
}

export async function fetchJson({ url }) {
  const response = await fetch(url, { signal: AbortSignal.timeout(10_000) })
  return response.json()
}

export async function postForm({ url, fields }) {
  const response = await fetch(url, { method: 'POST', body: new URLSearchParams(fields) })
  return response.json()
}

export const downloadFile = async ({ url, file }) => {
  const response = await fetch(url)
  await pipeline(response.body, createWriteStream(file))
  return readFileSync(file, 'utf8')
}

export const httpGet = ({ url }) =>
  new Promise((resolve, reject) => {
    http
      .get(url, { agent: new http.Agent({ keepAlive: true }) }, (response) => {
        response.setEncoding('utf8')
        let text = ''
        response.on('data', (chunk) => (text += chunk))
        response.on('end', () => resolve([response.statusCode, text]))
      })
      .on('error', reject)
  })

export async function checkPort({ host, port }) {
  const socket = net.connect({ host, port })
  await once(socket, 'connect')
  socket.destroy()
  return 'open'
}

export async function resolveHost({ host }) {
  const { family } = await lookup(host)
  return [4, 6].includes(family)
}

export async function listCommits({ folder }) {
  const git = promisify(execFile)
  const options = { cwd: folder }
  await git('git', ['init', '-q'], options)
  await git('git', ['add', '.'], options)
  await git(
    'git',
    ['-c', 'user.name=Ann', '-c', 'user.email=ann@example.com', 'commit', '-qm', 'First'],
    options,
  )
  const { stdout } = await git('git', ['log', '--format=%s'], options)
  return stdout.trim()
}

export const runScript = ({ code }) =>
  execFileSync('node', ['-e', code], { cwd: 'work/out', encoding: 'utf8' })

export async function sortLines({ lines }) {
  const child = spawn('sort', ['-r'], { cwd: 'work' })
  child.stdin.end(lines.join('\n'))
  const text = (await child.stdout.setEncoding('utf8').toArray()).join('')
  return text.trim().split('\n')
}

export const systemName = () => execFileSync('uname', ['-s'], { encoding: 'utf8' }).trim()

export const calculate = ({ expression }) =>
  vm.runInNewContext(expression, { Math }, { timeout: 1000 })

export const hashPassword = ({ password }) => scryptSync(password, 'salt', 16).toString('hex')

export const machine = () => [
  typeof os.cpus().length,
  typeof os.hostname(),
  typeof os.freemem(),
  typeof process.memoryUsage().rss,
  process.uptime() > 0,
]

export function convertTime({ when, zone }) {
  const format = new Intl.DateTimeFormat('en-GB', { timeZone: zone, timeStyle: 'short' })
  return format.format(new Date(when))
}

export async function wait({ ms }, { signal }) {
  await new Promise((resolve) => setTimeout(resolve, ms))
  console.error('waited')
  return signal.aborted
}

export const encodeText = ({ text }) => {
  const packed = gzipSync(text).toString('base64')
  return Buffer.from(packed, 'base64').length > 0 && new URL(`https://x.org/?q=${text}`).search
}

/** @param {Record<string, string>} values */
export const rows = ({ origin, port, address }) => [
  {
    tool: readFile,
    args: { file: 'work/notes/todo.txt' },
    effects: ['read'],
    expected: 'Buy milk\nCall Ann\nPay rent\n',
  },
  {
    tool: writeNote,
    args: { file: 'work/out/new/note.md', text: 'hi' },
    effects: ['read', 'write'],
    expected: 'hi!',
  },
  { tool: listFiles, args: { folder: './work/notes' }, effects: ['read'], expected: 2 },
  {
    tool: searchFiles,
    args: { folder: 'work/notes', text: 'milk' },
    effects: ['read'],
    expected: ['todo.txt'],
  },
  {
    tool: editFile,
    args: { file: 'work/notes/todo.txt', from: 'milk', to: 'tea' },
    effects: ['read', 'write'],
    expected: 'Buy tea\nCall Ann\nPay rent\n',
  },
  {
    tool: compressFile,
    args: { file: 'work/sales.csv' },
    effects: ['read', 'write'],
    expected: '4e23abc9',
  },
  {
    tool: countLines,
    args: { file: path.resolve('work/sales.csv') },
    effects: ['read'],
    expected: 3,
  },
  {
    tool: removeFolder,
    args: { folder: 'work/out/old' },
    effects: ['read', 'write'],
    expected: [1, false],
  },
  {
    tool: scratchFolder,
    args: { folder: 'work/out', text: 'x' },
    effects: ['read', 'write'],
    expected: 'x',
  },
  {
    tool: watchFolder,
    args: { folder: 'work/out' },
    effects: ['read', 'write'],
    expected: 'watched.txt',
  },
  {
    tool: fetchJson,
    args: { url: `${origin}/json` },
    effects: ['network'],
    addresses: [address],
    expected: { id: 7, tags: ['a', 'b'] },
  },
  {
    tool: postForm,
    args: { url: `${origin}/echo`, fields: { zip: '10115', ip: '10.0.0.1' } },
    effects: ['network'],
    changes: true,
    addresses: [address],
    expected: { method: 'POST', body: 'zip=10115&ip=10.0.0.1' },
  },
  {
    tool: downloadFile,
    args: { url: `${origin}/lines`, file: 'work/out/lines.txt' },
    effects: ['read', 'write', 'network'],
    addresses: [address],
    expected: 'one\ntwo\nthree\n',
  },
  {
    tool: httpGet,
    args: { url: `${origin}/moved` },
    effects: ['network'],
    addresses: [address],
    expected: [302, ''],
  },
  {
    tool: checkPort,
    args: { host: 'localhost', port },
    effects: ['network'],
    changes: true,
    addresses: [address, `[::1]:${port}`],
    expected: 'open',
  },
  {
    tool: resolveHost,
    args: { host: 'localhost' },
    effects: ['network'],
    addresses: ['127.0.0.0/8', '::1'],
    expected: true,
  },
  {
    tool: listCommits,
    args: { folder: 'work/out' },
    effects: ['read', 'write', 'shell'],
    programs: [
      ['git', '**'],
      ['git', '-c', '*', '-c', '*', 'commit', '-qm', '*'],
      ['git', 'init', '-q'],
      ['git', 'log', '--format=%s'],
    ],
    expected: 'First',
  },
  {
    tool: runScript,
    args: { code: 'console.log(6 * 7)' },
    effects: ['shell'],
    programs: [['node', '-e', '*']],
    expected: '42\n',
  },
  {
    tool: sortLines,
    args: { lines: ['a', 'c', 'b'] },
    effects: ['shell'],
    programs: [['sort', '-r']],
    expected: ['c', 'b', 'a'],
  },
  {
    tool: systemName,
    effects: ['shell'],
    programs: [['uname', '-s']],
    expected: /^(?:Linux|Darwin)$/,
  },
  { tool: calculate, args: { expression: 'Math.max(2, 3) ** 2' }, expected: 9 },
  { tool: hashPassword, args: { password: 'x' }, expected: /^[0-9a-f]{32}$/ },
  { tool: machine, expected: ['number', 'string', 'number', 'number', true] },
  {
    tool: convertTime,
    args: { when: '2026-01-01T12:00:00Z', zone: 'America/New_York' },
    expected: '07:00',
  },
  { tool: wait, args: { ms: 20 }, expected: false },
  { tool: encodeText, args: { text: 'a/b~c' }, expected: '?q=a/b~c' },
]
