import path from 'node:path'
import { type Denial, GuardError } from '../guard-error.js'
import { ownFileDenial, ownRemovalDenial, ownWordDenial } from './own-files.js'
import { portOf } from './canonical-host.js'
import { processErrors } from './process-errors.js'
import { noteEndpoint, type RefusedEndpoint } from './refused-endpoints.js'
import type { Command, FileAccess, Scopes } from './scopes.js'
import { expectUnheard } from './unheard-refusals.js'
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
  /** Names the call among those of its run, in short, for calls that its tool makes. */
  key: string | undefined
  /** Made when there is something to put in: most calls have neither. */
  #processes: Set<number> | undefined
  #releases: Set<() => void> | undefined
  #over: Denial | undefined
  #after: CallBounds | undefined

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
  }

  /** An entry is removed or renamed, with everything below it. */
  removal(path: string): void {
    this.#refuseOwn(ownRemovalDenial(path))
  }

  request(method: string, url: URL): void {
    this.#refuse(
      (scopes) => scopes.network?.checkRequest(method, url),
      () => ({ host: url.hostname, port: portOf(url) }),
    )
  }

  /** A request leaves: called once for each, however often it was checked before. */
  sent(): void {}

  /** Its tool makes a guarded call. */
  callsInside(): void {}

  host(host: string, port: number, raw: boolean): void {
    this.#refuse(
      (scopes) => scopes.network?.checkHost(host, port, raw),
      () => ({ host, port }),
    )
  }

  address(address: string, port: number, host: string): void {
    this.#refuse(
      (scopes) => scopes.network?.checkAddress(address, port, host),
      () => ({ host, port }),
    )
  }

  /** Any other question to the network scopes. */
  network(check: (scope: NonNullable<Scopes['network']>) => Denial | undefined): void {
    this.#refuse((scopes) => scopes.network && check(scopes.network))
  }

  /** Beside the vector itself, what a pattern let through is looked at like arguments of a tool. */
  process(command: Command): void {
    this.#refuse((scopes) => scopes.shell?.check(command))
    const { file, args, cwd } = command
    if (cwd !== undefined) this.file('read', path.resolve(cwd))
    for (const word of [file, ...args])
      this.#refuseOwn(ownWordDenial(word, path.resolve(cwd ?? '.')))
    if (command.shell) return
    const open = args.filter((word) => !this.scopes.some(({ shell }) => shell?.lists(word)))
    for (const word of open) this.#refuse((scopes) => inspectWord(scopes, word))
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
    this.#refuse((scopes) => scopes.shell?.check(command))
  }

  /** Refuses a way around the scopes, if there are any. */
  underScopes(denial: (tool: string) => Denial): void {
    if (this.#over !== undefined || this.#isScoped()) this.refuse(denial(this.tool))
  }

  /** Whatever the scopes say. `at`: where a connection would have led. */
  refuse(denial: Denial, at?: RefusedEndpoint): never {
    const error = new GuardError(this.#over ?? denial)
    if (at !== undefined) noteEndpoint(error, at)
    this.blocked.push(error)
    expectUnheard(error)
    throw error
  }

  /** Something the call has opened, to be ended with it. Returns how to let go of it. */
  onEnd(release: () => void): () => void {
    if (this.#over !== undefined) release()
    else (this.#releases ??= new Set()).add(release)
    return () => void this.#releases?.delete(release)
  }

  /** True if the call has its answer. */
  get isOver(): boolean {
    return this.#over !== undefined
  }

  /** The call has its answer. What it left running loses its way out. */
  end(over: Denial, isGivenUp = false): void {
    this.#over = over
    if (isGivenUp) this.#after = this
    if (this.#releases === undefined) return
    for (const release of this.#releases) release()
    this.#releases.clear()
  }

  /** These bounds while the call lasts. After it the same scopes, unless it was given up: nothing then. */
  orAfter(): CallBounds {
    if (this.#over === undefined) return this
    this.#after ??= new AfterBounds(this.tool, this.scopes, this.around)
    this.#after.key = this.key
    return this.#after
  }

  /** Only a shell scope can allow it; where there is none, the others forbid it. */
  #asProgram(command: Command): void {
    this.#refuse((scopes) => scopes.shell?.check(command))
    if (this.#isScoped() && !this.scopes.some(({ shell }) => shell !== undefined))
      this.refuse(processErrors.outOfBounds(this.tool, command))
  }

  #isScoped(): boolean {
    return this.scopes.some(({ files, network, shell }) => files ?? network ?? shell)
  }

  #refuseOwn(denial: Denial | undefined): void {
    if (denial !== undefined) this.refuse(denial)
  }

  #refuse(check: (scopes: Scopes) => Denial | undefined, at?: () => RefusedEndpoint): void {
    if (this.#over !== undefined) this.refuse(this.#over)
    for (const scopes of this.scopes) {
      const denial = check(scopes)
      if (denial !== undefined) this.refuse(scopes.reword?.(denial) ?? denial, at?.())
    }
  }
}

/** There is no call any more that could say what was blocked. */
class AfterBounds extends CallBounds {
  override refuse(denial: Denial, at?: RefusedEndpoint): never {
    this.blocked.length = 0
    return super.refuse(denial, at)
  }
}

/** An option may include its value: `--output=/etc/passwd`. */
function inspectWord({ files, network }: Scopes, word: string): Denial | undefined {
  const value = /^-[^=]*=(.*)$/s.exec(word)?.[1] ?? word
  return files?.inspect(value, 'argument') ?? network?.inspectWord(value)
}
