import path from 'node:path'
import { natives, outsideRuns } from '@retake/engine/hook'
import { type Denial, GuardError, guardErrors } from '../denials/guard-error.js'
import { processDenials } from '../denials/scope-denials.js'
import { sandboxMissing } from '@retake/runner/sandbox'
import { type NetworkBounds, portOf } from './network-bounds.js'
import { ownFileDenial, ownRemovalDenial, ownWordDenial } from '../paths/own-files.js'
import type { Command, FileAccess, Scopes } from './scopes.js'
import { noSandboxDenial, unseenCodeDenial } from './shell-bounds.js'

/**
 * The limits of what one guarded call may touch. Boundaries call a method before they do anything
 * native on behalf of the call. It throws if a scope forbids the action or the call is over.
 */
export class CallBounds {
  /** All refusals, including those that the tool ignored. */
  readonly blocked: GuardError[] = []
  /** True once the call sent a request, wrote or started a program; a later refusal cannot undo that. */
  acted = false
  /** Key of the call in its run; part of the keys of nested calls. */
  key: string | undefined
  /** These sets are created on demand, because most calls never use them. */
  #processes: Set<number> | undefined
  #releases: Set<() => void> | undefined
  #opened: Set<number> | undefined
  #attempt: Attempt | undefined
  /** After the end, code that still runs may not touch anything. */
  isOver = false

  constructor(
    readonly tool: string,
    readonly scopes: readonly Scopes[],
    /** The enclosing calls, whose scopes also apply. */
    readonly around: readonly CallBounds[] = [],
  ) {
    for (const each of around) if (each.#attempt !== undefined) each.#attempt.didMore = true
  }

  get processes(): Set<number> {
    return (this.#processes ??= new Set())
  }

  /** Starts to record what the tool does, for `didOneThing`. */
  beginAttempt(): void {
    this.#attempt = { requests: new Set(), requested: new Set(), connected: new Set(), sent: 0 }
  }

  /**
   * True if the attempt made at most one request and did nothing else, so that a rejected request
   * proves that nothing happened. Does not see traffic other than HTTP on older connections.
   */
  get didOneThing(): boolean {
    if (this.#attempt === undefined) return false
    const { requests, requested, connected, sent, didMore } = this.#attempt
    const others = [...connected].filter((endpoint) => !requested.has(endpoint))
    return didMore !== true && sent <= 1 && requests.size + others.length <= 1
  }

  file(access: FileAccess, location: string): void {
    this.#refuseOwn(ownFileDenial(access, location))
    this.#refuse((scopes) => scopes.files?.check(access, location))
    if (access === 'write') this.#act()
  }

  /** Checks the removal or renaming of an entry with everything below it. */
  removal(location: string): void {
    this.#refuseOwn(ownRemovalDenial(location))
  }

  request(method: string, url: URL): void {
    this.#refuse((scopes) => scopes.network?.checkRequest(method, url))
    const endpoint = `${url.hostname}:${portOf(url)}`
    this.#attempt?.requested.add(endpoint)
    // `fetch` sends a lower-case method in upper case.
    const target = `${endpoint} ${method.toUpperCase()} ${url.pathname}${url.search}`
    this.#attempt?.requests.add(target)
  }

  /** Called once for each request that is sent; `request` may check the same one several times. */
  sent(): void {
    this.acted = true
    if (this.#attempt !== undefined) this.#attempt.sent += 1
  }

  host(host: string, port: number, raw: boolean): void {
    this.#refuse((scopes) => scopes.network?.checkHost(host, port, raw))
    if (raw) this.acted = true
    this.#attempt?.connected.add(`${host}:${port}`)
  }

  address(address: string, port: number, host: string): void {
    this.#refuse((scopes) => scopes.network?.checkAddress(address, port, host))
  }

  /** Any other check of the network scopes. */
  network(check: (scope: NetworkBounds) => Denial | undefined): void {
    this.#refuse((scopes) => scopes.network && check(scopes.network))
  }

  /** Checks which program may start. The sandbox limits what it can touch. */
  process(command: Command): void {
    const isConfined = this.#isScoped() && sandboxMissing() === undefined
    const isContained =
      isConfined && this.scopes.some(({ files }) => files?.roots.read && files.roots.write)
    this.#refuse((scopes) => scopes.shell?.check(command, isConfined, isContained))
    const { file, args, cwd } = command
    // Without the option, it would be the same folder.
    if (cwd !== undefined && path.resolve(cwd) !== process.cwd())
      this.file('read', path.resolve(cwd))
    // Scopes that come only from declared effects do not count here.
    const policies = this.scopes.filter(({ reword }) => reword === undefined)
    const isOpen = policies.every(({ files, network }) => !(files ?? network))
    if (!isConfined && !isOpen && policies.every(({ shell }) => shell === undefined))
      this.refuse(noSandboxDenial('guard', command))
    for (const word of [file, ...args])
      this.#refuseOwn(ownWordDenial(word, path.resolve(cwd ?? '.')))
    this.#act()
  }

  /** Boundaries cannot see inside workers and native code, so only a shell scope can allow them. */
  unseen(kind: 'worker' | 'addon', file: string): void {
    const command: Command = { kind, file: kind, args: [file], shell: false }
    this.#refuse((scopes) => scopes.shell?.check(command, true))
    if (this.#isScoped() && !this.scopes.some(({ shell }) => shell !== undefined))
      this.refuse(unseenCodeDenial(kind, file))
    this.#act()
  }

  /** A call may signal its own processes, and probe any process with signal 0. */
  signal(pid: number, signal: string): void {
    if (this.#processes?.has(Math.abs(pid)) === true || signal === '0') return
    if (pid === process.pid || pid === 0 || pid === -1)
      this.refuse(processDenials.PROCESS_SIGNAL('guard/process', { tool: this.tool, signal }))
    const args = [`-${signal}`, String(pid)]
    const command: Command = { kind: 'signal', file: 'kill', args, shell: false }
    this.#refuse((scopes) => scopes.shell?.check(command, true))
  }

  /** Throws the denial, whatever the scopes allow. */
  refuse(denial: Denial): never {
    const error = new GuardError(this.isOver ? guardErrors.GUARD_CALL_OVER(this.tool) : denial)
    this.blocked.push(error)
    ignoreIfUncaught(error)
    throw error
  }

  overlook(error: unknown): void {
    const at = this.blocked.indexOf(error as GuardError)
    if (at >= 0) this.blocked.splice(at, 1)
  }

  /** Remembers a descriptor that the call itself has opened. */
  opened(fd: number): void {
    ;(this.#opened ??= new Set()).add(fd)
  }

  /** True if the call itself has opened a descriptor, which was checked then. */
  hasOpened(fd: number): boolean {
    return this.#opened?.has(fd) === true
  }

  /**
   * Checks a write to a log. A log of the program may be written even after the call, because a
   * stream flushes its buffer in the async context of an earlier write.
   */
  log(fd: number, location: string | undefined): void {
    if (this.#opened?.has(fd) === true) this.checkOver()
    if (location !== undefined) this.#refuseOwn(ownFileDenial('write', location))
  }

  /** Checks a descriptor that is not a file, such as a connection of the program. */
  connection(fd: number): void {
    this.checkOver()
    if (this.#isScoped() && !this.hasOpened(fd))
      this.refuse(processDenials.DESCRIPTOR_NOT_ALLOWED('guard/process', { tool: this.tool, fd }))
  }

  /** Calls `release` when the call ends. Returns a function that unregisters it. */
  onEnd(release: () => void): () => void {
    if (this.isOver) release()
    else (this.#releases ??= new Set()).add(release)
    return () => void this.#releases?.delete(release)
  }

  checkOver(): void {
    if (this.isOver) this.refuse(guardErrors.GUARD_CALL_OVER(this.tool))
  }

  end(): void {
    this.isOver = true
    for (const release of this.#releases ?? []) release()
    this.#releases?.clear()
  }

  #act(): void {
    this.acted = true
    if (this.#attempt !== undefined) this.#attempt.didMore = true
  }

  #isScoped(): boolean {
    return this.scopes.some(({ files, network, shell }) => files ?? network ?? shell)
  }

  #refuseOwn(denial: Denial | undefined): void {
    if (denial !== undefined) this.refuse(denial)
  }

  #refuse(check: (scopes: Scopes) => Denial | undefined): void {
    this.checkOver()
    for (const scopes of this.scopes) {
      const denial = check(scopes)
      if (denial !== undefined) this.refuse(scopes.reword?.(denial) ?? denial)
    }
  }
}

/** Calls `end` when one of the calls ends. Returns a function that unregisters it. */
export function endWith(
  bounds: readonly CallBounds[],
  end: (call: CallBounds) => void,
): () => void {
  const releases = bounds.map((each) => each.onEnd(() => end(each)))
  return () => {
    for (const release of releases) release()
  }
}

interface Attempt {
  readonly requests: Set<string>
  /** Endpoints of requests. A connection to one of these is not a second action. */
  readonly requested: Set<string>
  readonly connected: Set<string>
  sent: number
  didMore?: boolean
}

/**
 * Refusals are thrown inside the code of a tool. In a timer or a floating promise, an uncaught
 * refusal would end the process, so it is ignored there; `CallBounds.blocked` still lists it.
 */
const refusals = new WeakSet<object>()
const LISTENING_MS = 1_000
let timer: NodeJS.Timeout | undefined

export function ignoreIfUncaught(error: Error): void {
  refusals.add(error)
  if (timer === undefined)
    outsideRuns(() => process.prependListener('uncaughtException', onUncaught))
  else natives.clearTimeout(timer)
  timer = natives.setTimeout(stopListening, LISTENING_MS)
  timer.unref()
}

function stopListening(): void {
  timer = undefined
  process.removeListener('uncaughtException', onUncaught)
}

const isRefusal = (error: unknown): boolean => {
  for (let each = error, depth = 0; each instanceof Error && depth < 5; depth += 1) {
    if (refusals.has(each)) return true
    each = each.cause
  }
  return false
}

function onUncaught(error: unknown): void {
  if (isRefusal(error) || process.listenerCount('uncaughtException') > 1) return
  // Without other listeners, Node would end the process here.
  natives.clearTimeout(timer)
  stopListening()
  throw error
}
