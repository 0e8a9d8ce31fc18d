import { type ChildProcess, spawn } from 'node:child_process'
import { createRequire } from 'node:module'
import net from 'node:net'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { lookup } from 'node:dns/promises'
import http2 from 'node:http2'
import type { Duplex } from 'node:stream'
import { existsSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { outsideRuns } from '@retake/engine/hook'
import type { CallUsage } from '@retake/tape/guards'
import type { CallBounds } from '../bounds/call-bounds.js'
import { foldersAbove, isBelow } from '@retake/runner/sandbox'
import { confinementOf, type Scopes } from '../bounds/scopes.js'
import { currentBounds } from '../bounds/current-bounds.js'
import { GuardError, guardErrors } from '../denials/guard-error.js'
import { onAbort } from '../limits/execute-tool.js'
import type {
  GuardedTool,
  SandboxedModule,
  SandboxLimits,
  ToolContext,
} from '../contract/guarded-tool.js'
import {
  type Confinement,
  outsideSockets,
  sandboxMissing,
  startConfined,
} from '@retake/runner/sandbox'
import { endWithDescendants } from '@retake/runner/sandbox'
import { receiveFrames, sendFrame } from './frames.js'
import { permissionFlags } from '@retake/runner/sandbox'
import { underSeatbelt } from '@retake/runner/sandbox'
import type { SentError, ToolRequest } from './tool-child.js'

/** Idle processes by tool and confinement, least recently used first. */
const idle = new Map<string, ToolProcess[]>()
let idleCount = 0
const IDLE_MAX = 4
const IDLE_MAX_ALL = 16

/** Runs a module in its own process, inside a sandbox. */
export function sandboxedTool(
  name: string,
  options: SandboxedModule,
  child: string,
): GuardedTool['run'] {
  const { module, export: exported = 'default', sandbox = true } = options
  const limits: SandboxLimits = typeof sandbox === 'object' ? sandbox : {}
  const file = path.resolve(module.startsWith('file:') ? fileURLToPath(module) : module)
  const code = JSON.stringify([file, exported, limits])
  const missing = sandboxMissing()
  if (missing !== undefined && sandbox !== 'best-effort')
    throw new GuardError(guardErrors.SANDBOX_MISSING(name, missing))
  let recent: Enclosure | undefined
  // Inspecting folders, tapes and sockets costs more than a call, so calls share it for a moment.
  const enclosureFor = (scopes: readonly Scopes[]): Enclosure => {
    const isRecent = recent?.scopes === scopes && performance.now() - recent.at < RECENT_MS
    if (isRecent && recent?.confinement.cwd === process.cwd()) return recent
    // The working directory is the same, so that relative paths mean the same to tool and guard.
    const confinement = confinementOf(scopes, process.cwd())
    const key = `${code}\n${JSON.stringify([confinement, outsideSockets(confinement)])}`
    return (recent = { scopes, at: performance.now(), confinement, key })
  }
  return (args, context) => {
    const bounds = currentBounds()
    return outsideRuns(() => {
      // For a single call, returns the array itself, which is identical for all calls of a tool.
      const { key, confinement } = enclosureFor(
        bounds.length === 1 && bounds[0] ? bounds[0].scopes : bounds.flatMap((each) => each.scopes),
      )
      const tool =
        idleProcess(key) ?? new ToolProcess({ name, child, file, exported, limits, confinement })
      return tool.call(args, context, bounds, () => wait(key, tool))
    })
  }
}

/** The confinement of a call, and the key of processes with the same confinement. */
interface Enclosure {
  readonly scopes: readonly Scopes[]
  readonly at: number
  readonly confinement: Confinement
  readonly key: string
}

const RECENT_MS = 20

/** Keeps a process for the next call, and ends the least recently used ones. */
function wait(key: string, tool: ToolProcess): void {
  const waiting = idle.get(key) ?? []
  if (!tool.isAlive || waiting.length >= IDLE_MAX) return tool.end()
  waiting.push(tool)
  idleCount += 1
  idle.delete(key)
  idle.set(key, waiting)
  for (const [each, processes] of idle) {
    if (idleCount <= IDLE_MAX_ALL) return
    idleCount -= processes.length
    idle.delete(each)
    for (const unused of processes) unused.end()
  }
}

function idleProcess(key: string): ToolProcess | undefined {
  const waiting = idle.get(key)
  for (let tool = waiting?.pop(); tool !== undefined; tool = waiting?.pop()) {
    idleCount -= 1
    if (tool.isAlive) return tool
  }
  return undefined
}

interface ToolProcessOptions {
  readonly name: string
  /** The program that loads the module. */
  readonly child: string
  readonly file: string
  readonly exported: string
  readonly limits: SandboxLimits
  readonly confinement: Confinement
}

/** Runs one call at a time. While idle, it does not prevent the program from exiting. */
class ToolProcess {
  readonly #child: ChildProcess
  readonly #channel: net.Socket
  #receive: (reply: Reply) => void = () => {}
  #fail: (error: unknown) => void = () => {}
  /** Output until the module is loaded. Explains a failure to load it. */
  #printed: string | undefined = ''
  #bounds: readonly CallBounds[] = []
  #lastId = 0
  isAlive = true

  constructor(options: ToolProcessOptions) {
    this.#child = startChild(options)
    this.#channel = this.#child.stdio[CHANNEL_FD] as unknown as net.Socket
    receiveFrames(
      this.#channel,
      (reply) => {
        // Any code in the sandbox may have sent it.
        if (!isObject(reply)) return
        if (this.#printed) process.stderr.write(this.#printed)
        this.#printed = undefined
        this.#receive(reply)
      },
      () => this.end(),
    )
    const pipe = this.#child.stdio[GATEWAY_FD]
    if (pipe instanceof net.Socket) openGateway(pipe.unref(), () => this.#bounds)
    this.#child.stderr?.on('data', (text: Buffer) => {
      if (this.#printed === undefined) process.stderr.write(text)
      else this.#printed += text
    })
    this.#child.once('error', (error) => this.#ended(error))
    this.#child.once('exit', (code, signal) => this.#exited(options.name, code, signal))
    this.#setReferenced(false)
  }

  #exited(name: string, code: number | null, signal: NodeJS.Signals | null): void {
    const { stderr } = this.#child
    const exit = signal ?? `code ${code}`
    const failed = (): void =>
      this.#ended(new GuardError(guardErrors.SANDBOX_FAILED(name, exit, this.#printed ?? '')))
    if (this.#printed === undefined)
      this.#ended(new Error(`The process of the tool ended with ${exit} before it answered.`))
    else if (stderr?.closed === false) stderr.once('close', failed)
    else failed()
  }

  #ended(error: Error): void {
    this.end()
    this.#fail(error)
  }

  /** Uses one promise for the whole call. Each further promise would take a tenth of a warm call. */
  call(
    args: unknown,
    context: ToolContext,
    bounds: readonly CallBounds[],
    released: () => void,
  ): Promise<unknown> {
    this.#setReferenced(true)
    // Code that never returns can be stopped only by ending the process.
    onAbort(context, () => this.end())
    const { idempotencyKey, attempt, use } = context
    const id = ++this.#lastId
    return new Promise((resolve, reject) => {
      const done = (): void => {
        this.#receive = this.#fail = () => {}
        this.#bounds = []
        onAbort(context, undefined)
        this.#setReferenced(false)
        released()
      }
      const fail = (error: unknown): void => {
        done()
        reject(error)
      }
      const receive = (reply: Reply): void => {
        if (reply['id'] !== id) return
        if ('use' in reply) return count(reply['use'] as CallUsage)
        // The module could not be loaded, or a program that it started is still running.
        if (reply['isLast'] === true) this.end()
        if ('output' in reply) {
          done()
          resolve(reply['output'])
        } else if (isSentError(reply['error'])) fail(refusalOr(reply['error'], this.#bounds))
        else fail(new Error('The tool failed without an error.'))
      }
      const count = (usage: CallUsage): void => {
        try {
          use(usage)
        } catch (error) {
          this.end()
          fail(error)
        }
      }
      this.#receive = receive
      this.#fail = fail
      this.#bounds = bounds
      const request: ToolRequest = { id, args, idempotencyKey, attempt }
      try {
        sendFrame(this.#channel, request)
      } catch (error) {
        fail(error)
      }
    })
  }

  end(): void {
    if (!this.isAlive) return
    this.isAlive = false
    endWithDescendants(this.#child)
  }

  #setReferenced(isNeeded: boolean): void {
    const { stderr } = this.#child
    for (const each of [this.#child, this.#channel, stderr as net.Socket | null])
      if (isNeeded) each?.ref()
      else each?.unref()
  }
}

/** Descriptors after stdin, stdout and stderr. */
const CHANNEL_FD = 3
const GATEWAY_FD = 4

function startChild(options: ToolProcessOptions): ChildProcess {
  const { child, file, exported, limits, confinement } = options
  const node = [
    ...toolFlags(process.execArgv),
    ...(limits.memoryMb === undefined ? [] : [`--max-old-space-size=${limits.memoryMb}`]),
  ]
  const isClosed = confinement.network === 'closed'
  const args = [file, exported, isClosed ? String(GATEWAY_FD) : '']
  const env: NodeJS.ProcessEnv = Object.fromEntries(
    [...VARIABLES, ...(limits.env ?? [])].flatMap((name) =>
      process.env[name] === undefined ? [] : [[name, process.env[name]]],
    ),
  )
  const stdio = ['ignore', 'inherit', 'pipe', 'pipe', isClosed ? 'pipe' : 'ignore'] as const
  const writable = confinement.write ?? confinement.read
  const files = [file, ...preloadsIn(node)].flatMap((each) => toolCode(each, writable))
  const code = confinement.read && [...files, ...(limits.code ?? []), path.dirname(child)]
  const withCode: Confinement = { ...confinement, ...(code && { code }) }
  if (sandboxMissing() !== undefined) {
    const flags = [...node, ...permissions(withCode)]
    const command = [process.execPath, ...flags, child, ...args]
    const [program = '', ...words] = underSeatbelt(withCode, command)
    return spawn(program, words, { env, stdio: [...stdio] })
  }
  const command = [process.execPath, ...node, child, ...args, 'alone']
  return startConfined(withCode, limited(limits, command), stdio, (program, words, descriptors) =>
    spawn(program, words, { env, stdio: descriptors }),
  )
}

/**
 * Flags for Node's permission model, used without a sandbox. Not promised: it follows links that lead
 * out, shows files of Retake inside the scope, and only `node:net` goes through the guard.
 */
const permissions = (confinement: Confinement): string[] => {
  const { read, write, network } = confinement
  const isOpen = read === undefined && write === undefined && network === 'open'
  return isOpen ? [] : permissionFlags(confinement)
}

/** Flags that say what to run or watch, which tools must not get. */
const PROGRAM_FLAGS =
  /^(?:-[cip]|-p?e|--(?:check|cpu-prof|env-file|eval|heap|input-type|inspect|interactive|print|test|trace-event|watch)[\w-]*(?:=.*)?)$/s
const FLAGS_WITH_VALUE =
  /^(?:-p?e|-p|--(?:cpu-prof-(?:dir|interval|name)|env-file|env-file-if-exists|eval|heap-prof-(?:dir|interval|name)|input-type|inspect-port|print|test-[\w-]+|trace-event-[\w-]+|watch-path))$/

/** Flags of this process that tools need, such as those that load TypeScript. */
function toolFlags(flags: readonly string[]): string[] {
  return flags.filter((flag, index) => {
    const isValue = FLAGS_WITH_VALUE.test(flags[index - 1] ?? '') && !flag.startsWith('-')
    return !isValue && !PROGRAM_FLAGS.test(flag)
  })
}

/** Files that Node loads before the module, such as a loader for TypeScript. */
function preloadsIn(flags: readonly string[]): string[] {
  const { resolve } = createRequire(path.resolve('index.js'))
  return flags.flatMap((flag, index) => {
    const [, name = ''] = PRELOAD.exec(`${flag}=${flags[index + 1] ?? ''}`) ?? []
    try {
      return name === '' ? [] : [resolve(name.startsWith('file:') ? fileURLToPath(name) : name)]
    } catch {
      // Node reports a module that it cannot find.
      return []
    }
  })
}
const PRELOAD = /^(?:-r|--require|--import|--loader|--experimental-loader)=([^=]+)/

function limited(
  { memoryMb, cpu, processes }: SandboxLimits,
  command: readonly string[],
): string[] {
  const flags = [
    // Limits data, not addresses, because V8 reserves far more addresses than it uses.
    memoryMb === undefined ? '' : `ulimit -d ${(memoryMb + NODE_MB) * 1024}; `,
    cpu === undefined ? '' : `ulimit -t ${cpu}; `,
    // The option is `-u` or `-p`, depending on the shell.
    processes === undefined
      ? ''
      : `{ ulimit -u ${processes + NODE_THREADS} || ulimit -p ${processes + NODE_THREADS}; } 2>/dev/null; `,
  ].join('')
  return flags === '' ? [...command] : ['/bin/sh', '-c', `${flags}exec "$0" "$@"`, ...command]
}

/** Memory and threads that Node itself needs. Node 24 needs most. */
const NODE_MB = 600
const NODE_THREADS = 16

/** Environment variables that every tool gets. Others may be secrets. */
const VARIABLES = ['PATH', 'LANG', 'LC_ALL', 'TZ', 'HOME', 'NODE_ENV', 'NODE_EXTRA_CA_CERTS']

/** The error of a tool. If a refusal cut a connection, it becomes the cause. */
function refusalOr(error: SentError, bounds: readonly CallBounds[]): Error {
  const refused = bounds.flatMap((each) => each.blocked).at(-1)
  const chain = [error]
  for (let cause = error.cause; cause !== undefined; cause = cause.cause) chain.push(cause)
  const isCutOff = chain.some(({ fields }) =>
    /^(?:ECONNREFUSED|ECONNRESET|EPIPE|UND_ERR_SOCKET)$/.test(String(fields['code'])),
  )
  const rebuiltError = rebuilt(error)
  if (refused !== undefined && isCutOff) rebuiltError.cause = refused
  return rebuiltError
}

type Reply = Readonly<Record<string, unknown>>

const isObject = (value: unknown): value is Reply => typeof value === 'object' && value !== null

const isSentError = (value: unknown, depth = 0): value is SentError =>
  isObject(value) &&
  typeof value['name'] === 'string' &&
  typeof value['message'] === 'string' &&
  isObject(value['fields']) &&
  (value['cause'] === undefined || (depth < 10 && isSentError(value['cause'], depth + 1)))

function rebuilt({ name, message, stack, fields, cause }: SentError): Error {
  const error = new Error(message, ...(cause ? [{ cause: rebuilt(cause) }] : []))
  Object.defineProperty(error, 'name', { value: name, configurable: true, writable: true })
  if (stack !== undefined) error.stack = stack
  return Object.assign(error, fields)
}

/**
 * The only connection out of a sandbox without network: HTTP/2 over a pipe, with a `CONNECT` request
 * for each connection. `bounds` returns the bounds of the current call; none between calls.
 */
function openGateway(pipe: Duplex, bounds: () => readonly CallBounds[]): void {
  const session = http2.performServerHandshake(pipe)
  session.unref()
  session.on('error', () => {})
  session.on('stream', (inner: http2.ServerHttp2Stream, headers) => {
    inner.on('error', () => {})
    // `example.com:443` or `[::1]:80`.
    const { ':authority': authority = '' } = headers
    const at = authority.lastIndexOf(':')
    const host = authority.slice(0, at).replace(/^\[(.*)\]$/, '$1')
    const port = Number(authority.slice(at + 1))
    allowed(bounds(), host, port)
      .then((address) => connect(inner, address, port))
      // `blocked` of the call lists the refusal.
      .catch(() => inner.close(http2.constants.NGHTTP2_CONNECT_ERROR))
  })
}

function connect(inner: http2.ServerHttp2Stream, host: string, port: number): void {
  const outer = net.connect({ host, port, allowHalfOpen: true })
  outer.once('connect', () => {
    if (inner.destroyed) return outer.destroy()
    inner.respond({ ':status': 200 })
    inner.pipe(outer).pipe(inner)
  })
  outer.on('error', () => inner.close(http2.constants.NGHTTP2_CONNECT_ERROR))
  inner.once('close', () => outer.destroy())
}

/** Throws if a scope refuses. Returns the checked address, so that the name is not resolved again. */
async function allowed(bounds: readonly CallBounds[], host: string, port: number): Promise<string> {
  if (bounds.length === 0) throw new Error('no call is being made')
  // Requests may be encrypted, so their methods cannot be checked.
  for (const each of bounds) each.host(host, port, true)
  const [first, ...others] = net.isIP(host)
    ? [{ address: host }]
    : await lookup(host, { all: true })
  if (first === undefined) throw new Error(`${host} has no address`)
  for (const { address } of [first, ...others])
    for (const each of bounds) each.address(address, port, host)
  return first.address
}

/** Matches relative names in `import`, `export … from`, `import()` and `require()`. */
const IMPORTED = /(?:\bfrom|\bimport|\bimport\s*\(|\brequire\s*\()\s*(['"])(\.{1,2}\/[^'"\n]*)\1/g
/** Matches files next to the module: `new URL('./thread.js', import.meta.url)`. */
const NAMED_BESIDE = /\bnew URL\(\s*(['"])((?!\w+:|\/)[^'"\n]+)\1\s*,\s*import\.meta\.url/g
const ENDINGS = ['', '.js', '.mjs', '.cjs', '.ts', '.mts', '.cts', '.json', '.node']

/**
 * The files that a module needs: itself, its relative imports, and `node_modules` and `package.json`
 * of the folders above. The rest of the project, which may contain secrets, is not visible.
 *
 * Files that the tool may write are not searched, because they could make other files visible.
 * Computed names are not found; list their folders in `sandbox.code`.
 */
function toolCode(module: string, writable: readonly string[] = []): string[] {
  const isWritable = (each: string): boolean => writable.some((root) => isBelow(each, root))
  const files = new Set<string>()
  const pending = [module]
  for (let file = pending.pop(); file !== undefined; file = pending.pop()) {
    if (files.has(file) || isWritable(file)) continue
    files.add(file)
    if (!/\.[cm]?[jt]s$/.test(file)) continue
    const text = readFileSync(file, 'utf8')
    for (const [, , name = ''] of [...text.matchAll(IMPORTED), ...text.matchAll(NAMED_BESIDE)]) {
      const found = resolveRelative(path.resolve(path.dirname(file), name))
      if (found !== undefined) pending.push(found)
    }
  }
  const folders = [...new Set([module, ...files].flatMap((file) => foldersAbove(file)))]
  const closed = folders.filter((folder) => !isWritable(folder))
  const around = closed.flatMap((folder) =>
    ['node_modules', 'package.json', 'tsconfig.json'].map((name) => path.join(folder, name)),
  )
  const visible = [...files, ...around.filter((each) => existsSync(each))]
  // Package managers may link packages from other folders.
  return [...new Set(visible.flatMap((each) => [each, realpathSync(each)]))]
}

/** TypeScript imports `x.js` although the file is `x.ts`. */
function resolveRelative(name: string): string | undefined {
  const source = name.replace(/\.([cm]?)js$/, '.$1ts')
  const candidates = [
    ...ENDINGS.map((ending) => name + ending),
    source,
    path.join(name, 'index.js'),
    path.join(name, 'index.ts'),
  ]
  return candidates.find((each) => statSync(each, { throwIfNoEntry: false })?.isFile())
}
