/**
 * Loaded into the process of a trial, above the recorder's patches. Appends a line of JSON to a file
 * for each use of something that a fix may not use, with the lines of the agent that are on the
 * stack. Watches the calls as the program makes them: what the tape answers, the overlay redirects
 * or the sandbox refuses is seen, too. Not watched: native add-ons, and the code of threads.
 */
import childProcess, { ChildProcess } from 'node:child_process'
import cluster from 'node:cluster'
import dgram from 'node:dgram'
import dns from 'node:dns'
import fs from 'node:fs'
import http2 from 'node:http2'
import inspector from 'node:inspector'
import net from 'node:net'
import path from 'node:path'
import tls from 'node:tls'
import { fileURLToPath } from 'node:url'
import v8 from 'node:v8'
import worker from 'node:worker_threads'
import {
  addOwnPackage,
  callers,
  disk,
  flagBits,
  installAbove,
  isOwnWork,
  lookFirst,
  natives,
  onVariableRead,
  opensForWriting,
  outsideRuns,
  replace,
  undoAll,
  type Undo,
} from '@retake/engine/hook'
import { labRoot } from '../package-root.js'
import { ALL_VARIABLES, type Use } from '../proof/uses.js'

const file = new URL(import.meta.url).searchParams.get('file')

/** Limits the file for a program that uses ever new things, or the same from ever new lines. */
const USES_MAX = 5000
/** Inspecting the stack takes longer than most uses. */
const SAME_MAX = 100
const seen = new Set<string>()
const counts = new Map<string, number>()

function note(code: Use['code'], what: string, facts: Pick<Use, 'isUnset'> = {}): void {
  if (file === null || isOwnWork() || seen.size >= USES_MAX) return
  const key = `${code} ${what}`
  const count = (counts.get(key) ?? 0) + 1
  counts.set(key, count)
  if (count > SAME_MAX) return
  const line = JSON.stringify({ code, what, ...facts, ...callers() } satisfies Use)
  if (seen.has(line)) return
  seen.add(line)
  outsideRuns(() => disk.appendFileSync(file, `${line}\n`))
}

// ── Files ───────────────────────────────────────────────────────────────────

/** Functions of `node:fs` that write, with the positions of the paths that they change. */
const WRITES: Readonly<Record<string, readonly number[]>> = {
  appendFile: [0],
  chmod: [0],
  chown: [0],
  copyFile: [1],
  cp: [1],
  createWriteStream: [0],
  lchmod: [0],
  lchown: [0],
  link: [1],
  lutimes: [0],
  mkdir: [0],
  mkdtemp: [0],
  mkdtempDisposable: [0],
  rename: [0, 1],
  rm: [0],
  rmdir: [0],
  // A link to a path outside of the project would lead later writes there.
  symlink: [0, 1],
  truncate: [0],
  unlink: [0],
  utimes: [0],
  writeFile: [0],
}

function pathOf(value: unknown): string | undefined {
  if (value instanceof URL) return value.protocol === 'file:' ? fileURLToPath(value) : undefined
  if (value instanceof Uint8Array) return path.resolve(Buffer.from(value).toString())
  return typeof value === 'string' ? path.resolve(value) : undefined
}

function watchFiles(): Undo {
  const noteWrite = (value: unknown): void => {
    const resolved = pathOf(value)
    if (resolved !== undefined) note('WRITE', resolved)
  }
  const modules = [fs, fs.promises] as const
  const writes = Object.entries(WRITES).flatMap(([name, positions]) =>
    modules.flatMap((module) =>
      [name, `${name}Sync`].map((method) =>
        lookFirst(module, method, (args) => {
          for (const position of positions) {
            const target = args[position]
            const isLinked = name === 'symlink' && position === 0 && typeof target === 'string'
            // The target of a link is relative to the link.
            noteWrite(isLinked ? path.resolve(path.dirname(pathOf(args[1]) ?? ''), target) : target)
          }
        }),
      ),
    ),
  )
  const opens = modules.flatMap((module) =>
    ['open', 'openSync'].map((method) =>
      lookFirst(module, method, ([target, flags]) => {
        const isGiven = typeof flags === 'string' || typeof flags === 'number'
        if (isGiven && opensForWriting(flagBits(flags))) noteWrite(target)
      }),
    ),
  )
  return undoAll([
    ...writes,
    ...opens,
    lookFirst(process.report, 'writeReport', ([target]) => noteWrite(target ?? '.')),
    lookFirst(v8, 'writeHeapSnapshot', ([target]) => noteWrite(target ?? '.')),
  ])
}

// ── Processes and threads ───────────────────────────────────────────────────

const words = (list: unknown): string[] =>
  Array.isArray(list) ? list.map((each) => String(each)) : []

const commandOf = (program: unknown, list: readonly string[]): string =>
  [program === process.execPath ? 'node' : String(program), ...list].join(' ')

function watchProcesses(): Undo {
  const Native = worker.Worker
  const Watched = new Proxy(Native, {
    construct(native, args: ConstructorParameters<typeof Native>, newTarget) {
      const isText = args[1]?.eval === true
      note('SPAWN', isText ? 'a thread from text' : `a thread of ${String(args[0])}`)
      return Reflect.construct(native, args, newTarget) as object
    },
  })
  const noteCommand = ([program, list]: unknown[]): void =>
    note('SPAWN', commandOf(program, words(list)))
  return undoAll([
    lookFirst(ChildProcess.prototype, 'spawn', ([options]) => {
      const { file: program, args } = (options ?? {}) as { file?: unknown; args?: unknown }
      const [, ...list] = words(args)
      // The shell of `exec` is not what the program names.
      const [flag, command] = list
      const isShell = list.length === 2 && flag === '-c' && /(?:^|\/)sh$/.test(String(program))
      note('SPAWN', isShell ? String(command) : commandOf(program, list))
    }),
    ...['spawnSync', 'execFileSync', 'execSync'].map((name) =>
      lookFirst(childProcess, name, noteCommand),
    ),
    lookFirst(cluster, 'fork', () => note('SPAWN', 'a worker process')),
    replace(worker, 'Worker', Watched),
  ])
}

// ── Network ─────────────────────────────────────────────────────────────────

/** `host:port`, or the path of a socket, from the many forms of arguments of `node:net`. */
function addressOf(args: readonly unknown[]): string {
  // `net.connect` passes its arguments as one list.
  const [first, second] = (Array.isArray(args[0]) ? args[0] : args) as readonly [
    (AddressOptions | Simple)?,
    unknown?,
  ]
  if (typeof first === 'object' && first !== null) {
    const { host, hostname, port, path: socket } = first
    return `${socket ?? ''}` !== '' && `${port ?? ''}` === ''
      ? `${socket}`
      : `${host ?? hostname ?? 'localhost'}:${port ?? 0}`
  }
  if (typeof first === 'string' && !/^\d+$/.test(first)) return first
  return `${typeof second === 'string' ? second : 'localhost'}:${first ?? 0}`
}

type Simple = string | number | null | undefined
type AddressOptions = Readonly<Record<'host' | 'hostname' | 'port' | 'path', Simple>>

const PORTS: Readonly<Record<string, string>> = { 'http:': '80', 'ws:': '80' }

function urlAddress(value: unknown): string | undefined {
  const text = value instanceof Request ? value.url : String(value)
  if (!URL.canParse(text)) return undefined
  const { hostname, port, protocol } = new URL(text)
  if (hostname === '') return undefined
  return `${hostname.replace(/^\[(.*)\]$/, '$1')}:${port || (PORTS[protocol] ?? '443')}`
}

const QUERY = /^(?:lookup|lookupService|reverse|resolve(?:[46A-Z].*)?)$/

function watchNetwork(): Undo {
  const noteUrl = ([url]: unknown[]): void => {
    const address = urlAddress(url)
    if (address !== undefined) note('CONNECT', address)
  }
  const noteAddress = (args: unknown[]): void => note('CONNECT', addressOf(args))
  const resolvers = [dns, dns.promises, dns.Resolver.prototype, dns.promises.Resolver.prototype]
  return undoAll([
    lookFirst(globalThis, 'fetch', noteUrl),
    lookFirst(http2, 'connect', noteUrl),
    lookFirst(net.Socket.prototype, 'connect', noteAddress),
    lookFirst(tls, 'connect', (args) => {
      const [options, second] = args
      const { socket } = ((typeof options === 'object' ? options : second) ?? {}) as {
        socket?: unknown
      }
      // On a connection that was already noted.
      if (socket === undefined) noteAddress(args)
    }),
    ...resolvers.flatMap((resolver) =>
      Object.getOwnPropertyNames(resolver)
        .filter((name) => QUERY.test(name))
        .map((name) => lookFirst(resolver, name, ([host]) => note('CONNECT', String(host)))),
    ),
    lookFirst(dgram, 'createSocket', () => note('CONNECT', 'a datagram socket')),
    lookFirst(net.Server.prototype, 'listen', (args) =>
      note('LISTEN', addressOf(args).replace(/^localhost:/, 'port ')),
    ),
    lookFirst(inspector, 'open', ([port = 9229]) => note('LISTEN', `port ${String(port)}`)),
  ])
}

addOwnPackage(labRoot)
installAbove(() => undoAll([watchFiles(), watchProcesses(), watchNetwork()]))
onVariableRead((name) => {
  if (name === undefined) note('READ_VARIABLE', ALL_VARIABLES)
  else note('READ_VARIABLE', name, natives.env[name] === undefined ? { isUnset: true } : {})
})
