import path from 'node:path'
import { natives, outsideRuns } from '@retake/engine/hook'
import { type Denial, GuardError, guardErrors, processEndDenial } from '../guard-error.js'
import { sandboxMissing } from '../sandbox/bubblewrap.js'
import { type NetworkBounds, portOf } from './network-bounds.js'
import { ownFileDenial, ownRemovalDenial, ownWordDenial } from './own-files.js'
import type { Command, FileAccess, Scopes } from './scopes.js'
import { shellErrors, unseenCodeDenial } from './shell-bounds.js'

/**
 * The bounds of one guarded call. Boundaries consult them before anything native happens on behalf
 * of the call. They throw if a scope forbids it, and always once the call is over.
 */
export class CallBounds {
  /** All refusals, including those that the tool ignored. */
  readonly blocked: GuardError[] = []
  /** Something has left: a request, a write, a program. A later refusal does not undo it. */
  acted = false
  /** Identifies the call in its run, for calls that its tool makes. */
  key: string | undefined
  /** Created on demand: most calls need none of them. */
  #processes: Set<number> | undefined
  #releases: Set<() => void> | undefined
  #opened: Set<number> | undefined
  #attempt: Attempt | undefined
  /** Whatever still runs may touch nothing. */
  isOver = false

  constructor(
    readonly tool: string,
    readonly scopes: readonly Scopes[],
    /** The enclosing calls, whose scopes apply as well. */
    readonly around: readonly CallBounds[] = [],
  ) {
    for (const each of around) if (each.#attempt !== undefined) each.#attempt.didMore = true
  }

  get processes(): Set<number> {
    return (this.#processes ??= new Set())
  }

  /** From now on, records what the tool does, for `didOneThing`. */
  beginAttempt(): void {
    this.#attempt = { requests: new Set(), requested: new Set(), connected: new Set(), sent: 0 }
  }

  /**
   * True if the attempt made at most one request and did nothing else: then an error of the request
   * proves that nothing happened. Connections from before the call that are not HTTP are not seen.
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

  /** An entry is removed or renamed, with everything below it. */
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

  /** A request leaves: called once for each, however often it was checked before. */
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

  /** Decides which program starts. The sandbox decides what it may touch. */
  process(command: Command): void {
    const isConfined = this.#isScoped() && sandboxMissing() === undefined
    const isContained =
      isConfined && this.scopes.some(({ files }) => files?.roots.read && files.roots.write)
    this.#refuse((scopes) => scopes.shell?.check(command, isConfined, isContained))
    const { file, args, cwd } = command
    if (cwd !== undefined) this.file('read', path.resolve(cwd))
    // Declared effects alone do not prevent a tool from starting programs.
    const policies = this.scopes.filter(({ reword }) => reword === undefined)
    const isOpen = policies.every(({ files, network }) => !(files ?? network))
    if (!isConfined && !isOpen && policies.every(({ shell }) => shell === undefined))
      this.refuse(shellErrors.SHELL_NO_SANDBOX('guard', command, sandboxMissing() ?? ''))
    for (const word of [file, ...args])
      this.#refuseOwn(ownWordDenial(word, path.resolve(cwd ?? '.')))
    this.#act()
  }

  /** Workers and native code are invisible to the boundaries, so only a shell scope can allow them. */
  unseen(kind: 'worker' | 'addon', file: string): void {
    const command: Command = { kind, file: kind, args: [file], shell: false }
    this.#refuse((scopes) => scopes.shell?.check(command, true))
    if (this.#isScoped() && !this.scopes.some(({ shell }) => shell !== undefined))
      this.refuse(unseenCodeDenial(this.tool, kind, file))
    this.#act()
  }

  /** A call may signal its own processes, and test whether any process exists. */
  signal(pid: number, signal: string): void {
    if (this.#processes?.has(Math.abs(pid)) === true || signal === '0') return
    if (pid === process.pid || pid === 0 || pid === -1)
      this.refuse(processEndDenial('signal', this.tool, signal))
    const args = [`-${signal}`, String(pid)]
    const command: Command = { kind: 'signal', file: 'kill', args, shell: false }
    this.#refuse((scopes) => scopes.shell?.check(command, true))
  }

  /** Refuses something regardless of the scopes. */
  refuse(denial: Denial): never {
    const error = new GuardError(this.isOver ? guardErrors.GUARD_CALL_OVER(this.tool) : denial)
    this.blocked.push(error)
    expectUnheard(error)
    throw error
  }

  overlook(error: unknown): void {
    const at = this.blocked.indexOf(error as GuardError)
    if (at >= 0) this.blocked.splice(at, 1)
  }

  /** A file that the call has opened itself. */
  opened(fd: number): void {
    ;(this.#opened ??= new Set()).add(fd)
  }

  /**
   * A write to a log. One of the program may be written after the call, too: a stream writes what it
   * has buffered in the context of the write before.
   */
  log(fd: number, location: string | undefined): void {
    if (this.#opened?.has(fd) === true) this.checkOver()
    if (location !== undefined) this.#refuseOwn(ownFileDenial('write', location))
  }

  /** Registers something to release when the call ends. Returns how to unregister it. */
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

/** Ends something together with its calls. Returns how to forget it, once it has ended by itself. */
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
  /** Endpoints of requests and of connections: a connection that a request uses is not another thing. */
  readonly requested: Set<string>
  readonly connected: Set<string>
  sent: number
  didMore?: boolean
}

/**
 * Refusals are thrown in the code of a tool. In a timer or a floating promise, such an error would
 * end the process, so it is ignored: `blocked` of the call lists it. Other errors are unaffected.
 */
const refusals = new WeakSet<object>()
const LISTENING_MS = 1_000
let timer: NodeJS.Timeout | undefined

export function expectUnheard(error: Error): void {
  refusals.add(error)
  if (timer === undefined) outsideRuns(() => process.prependListener('uncaughtException', hear))
  else natives.clearTimeout(timer)
  timer = natives.setTimeout(stopListening, LISTENING_MS)
  timer.unref()
}

function stopListening(): void {
  timer = undefined
  process.removeListener('uncaughtException', hear)
}

const isRefusal = (error: unknown): boolean => {
  for (let each = error, depth = 0; each instanceof Error && depth < 5; depth += 1) {
    if (refusals.has(each)) return true
    each = each.cause
  }
  return false
}

function hear(error: unknown): void {
  if (isRefusal(error) || process.listenerCount('uncaughtException') > 1) return
  // Without other listeners, Node would end the process here.
  natives.clearTimeout(timer)
  stopListening()
  throw error
}
