import path from 'node:path'
import { type Denial, GuardError } from '../guard-error.js'
import { ownFileDenial, ownRemovalDenial, ownWordDenial } from './own-files.js'
import { processErrors } from './process-errors.js'
import type { Command, FileAccess, Scopes } from './scopes.js'
import { expectUnheard } from './unheard-refusals.js'
import { sandboxMissing } from '../sandbox/bubblewrap.js'
import { shellErrors } from './shell-errors.js'
import { guardErrors } from '../guard-errors.js'

/** The denial for a tool that continues after its call; the same text each time. */
export function callOver(tool: string): Denial {
  const known = denials.get(tool)
  if (known !== undefined) return known
  if (denials.size >= DENIALS_MAX) denials.clear()
  const denial = guardErrors.callOver(tool)
  denials.set(tool, denial)
  return denial
}

const DENIALS_MAX = 1000
const denials = new Map<string, Denial>()

/**
 * The bounds of one guarded call. The boundaries consult them before anything native
 * happens on behalf of the call; it throws when a scope forbids it, and always
 * once the call is over, so that a tool that was given up on does nothing more.
 */
export class CallBounds {
  /** All refusals, also those that the tool ignored. */
  readonly blocked: GuardError[] = []
  /** Something has left: a request, a write, a program. A refusal after that does not undo it. */
  acted = false
  /** Names the call among those of its run, in short, for calls that its tool makes. */
  key: string | undefined
  /** Made when there is something to put in: most calls have neither. */
  #processes: Set<number> | undefined
  #releases: Set<() => void> | undefined
  #over: Denial | undefined

  constructor(
    readonly tool: string,
    readonly scopes: readonly Scopes[],
    /** The calls in which this one was made: what they may not, it may not either. */
    readonly around: readonly CallBounds[] = [],
  ) {
    for (const each of around) each.callsInside()
  }

  /** Processes that the call has started and that run. */
  get processes(): Set<number> {
    return (this.#processes ??= new Set())
  }

  file(access: FileAccess, path: string): void {
    this.#refuseOwn(ownFileDenial(access, path))
    this.#refuse((scopes) => scopes.files?.check(access, path))
    if (access !== 'read') this.acted = true
  }

  /** An entry is removed or renamed, with everything below it. */
  removal(path: string): void {
    this.#refuseOwn(ownRemovalDenial(path))
  }

  request(method: string, url: URL): void {
    this.#refuse((scopes) => scopes.network?.checkRequest(method, url))
  }

  /** A request leaves: called once for each, however often it was checked before. */
  sent(): void {
    this.acted = true
  }

  /** Its tool makes a guarded call. */
  callsInside(): void {}

  host(host: string, port: number, raw: boolean): void {
    this.#refuse((scopes) => scopes.network?.checkHost(host, port, raw))
    if (raw) this.acted = true
  }

  address(address: string, port: number, host: string): void {
    this.#refuse((scopes) => scopes.network?.checkAddress(address, port, host))
  }

  /** Any other question to the network scopes. */
  network(check: (scope: NonNullable<Scopes['network']>) => Denial | undefined): void {
    this.#refuse((scopes) => scopes.network && check(scopes.network))
  }

  /** Decides which program starts. What it may touch then is for the sandbox, where there is one. */
  process(command: Command): void {
    const isConfined = this.#isScoped() && sandboxMissing() === undefined
    const isContained =
      isConfined && this.scopes.some(({ files }) => files?.roots.read && files.roots.write)
    this.#refuse((scopes) => scopes.shell?.check(command, isConfined, isContained))
    const { file, args, cwd } = command
    if (cwd !== undefined) this.file('read', path.resolve(cwd))
    // Declared effects alone do not take programs away from a tool that declares them.
    const policies = this.scopes.filter(({ reword }) => reword === undefined)
    const isOpen = policies.every(({ files, network }) => !(files ?? network))
    if (!isConfined && !isOpen && policies.every(({ shell }) => shell === undefined))
      this.refuse(shellErrors.noSandbox('guard', command, sandboxMissing() ?? ''))
    for (const word of [file, ...args])
      this.#refuseOwn(ownWordDenial(word, path.resolve(cwd ?? '.')))
    this.acted = true
  }

  /** A thread has this Node's ways out, and none of its bounds. */
  worker(file: string): void {
    this.#asProgram({ kind: 'worker', file: 'worker', args: [file], shell: false })
  }

  /** Native code is not seen by any boundary. */
  addon(file: string): void {
    this.#asProgram({ kind: 'addon', file: 'addon', args: [file], shell: false })
  }

  /** A call may signal its own processes, and test whether any process exists. */
  signal(pid: number, signal: string): void {
    if (this.#processes?.has(Math.abs(pid)) === true || signal === '0') return
    if (pid === process.pid || pid === 0 || pid === -1)
      this.refuse(processErrors.ownSignal(this.tool, signal))
    const command: Command = {
      kind: 'signal',
      file: 'kill',
      args: [`-${signal}`, String(pid)],
      shell: false,
    }
    this.#refuse((scopes) => scopes.shell?.check(command, true))
  }

  /** Whatever the scopes say. */
  refuse(denial: Denial): never {
    const error = new GuardError(this.#over ?? denial)
    this.blocked.push(error)
    expectUnheard(error)
    throw error
  }

  /** A refusal that nobody needs to know about. */
  overlook(error: unknown): void {
    const at = this.blocked.indexOf(error as GuardError)
    if (at >= 0) this.blocked.splice(at, 1)
  }

  /** A message for a log that the program has opened. */
  log(path: string): void {
    this.checkOver()
    this.#refuseOwn(ownFileDenial('write', path))
  }

  /** Something the call has opened, to be ended with it. Returns how to let go of it. */
  onEnd(release: () => void): () => void {
    if (this.#over !== undefined) release()
    else (this.#releases ??= new Set()).add(release)
    return () => void this.#releases?.delete(release)
  }

  /** Throws when the call is over. */
  checkOver(): void {
    if (this.#over !== undefined) this.refuse(this.#over)
  }

  /** True if the call has its answer. */
  get isOver(): boolean {
    return this.#over !== undefined
  }

  /** The call has its answer. What it left running loses its way out. */
  end(over: Denial): void {
    this.#over = over
    if (this.#releases === undefined) return
    for (const release of this.#releases) release()
    this.#releases.clear()
  }

  /** Only a shell scope can allow it; where there is none, the others forbid it. */
  #asProgram(command: Command): void {
    this.#refuse((scopes) => scopes.shell?.check(command, true))
    if (this.#isScoped() && !this.scopes.some(({ shell }) => shell !== undefined))
      this.refuse(processErrors.outOfBounds(this.tool, command))
    this.acted = true
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
