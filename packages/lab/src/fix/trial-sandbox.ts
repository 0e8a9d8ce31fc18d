import { type ChildProcess, spawn, type SpawnOptions } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import module from 'node:module'
import type { Server } from 'node:net'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { containsSecret, placeholderFor } from '@retake/engine/runs'
import {
  type Confinement,
  forwardingOf,
  hostsText,
  permissionFlags,
  type ReachableAddress,
  sandboxMissing,
  startConfined,
} from '@retake/runner/sandbox'
import { endWithDescendants } from '@retake/runner/sandbox'
import { environmentOnTape, type Tape } from '@retake/tape'
import { hasTypeScriptLoader, type Launch, forwardTo } from '@retake/runner/agent'
import type { TrialLauncher } from '../compare/live-trials.js'
import { commandRoot } from '@retake/runner/package-root'
import { labEntry } from '../package-root.js'
import { viewRun } from '@retake/runner/runs'
import {
  addressOf,
  type ModelAddress,
  type ModelVariables,
  PROVIDER_KEYS,
} from './model-variables.js'
import { importedFolders, type ProjectCopy } from './project-copy.js'

/** Limits of one process for `ulimit`: kilobytes of memory, file size in blocks of 512 bytes. */
const LIMITS = 'ulimit -d 4194304; ulimit -f 2097152; ulimit -c 0'

/** Variables that every program needs; all others come from the tape. */
const NEEDED = /^(?:PATH|LANG|LANGUAGE|LC_\w+|TZ|RETAKE_\w+)$/

/** Variables that name certificates. */
const CERTIFICATES = ['NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE', 'SSL_CERT_DIR']

/**
 * `permissions`: Node's permission model, which confines less; docs/fix.md lists the gaps.
 * `around`: the whole command already runs in a sandbox, that of a worker.
 */
export type SandboxKind = 'bubblewrap' | 'permissions' | 'around'

/**
 * Runs trials in bubblewrap: programs and packages are readable, the copy of the project and
 * temporary folders are writable, and nothing else is visible. There is no network; in a live
 * trial, the model endpoints on the tape are forwarded. No process can be started, and the
 * environment contains only variables on the tape. Without bubblewrap, Node itself confines files
 * and processes.
 */
export class TrialSandbox {
  readonly #servers: Server[] = []
  readonly #sockets = new Map<string, string>()

  constructor(
    /** Writable folder for tapes of trials. */
    readonly folder: string,
    readonly kind: SandboxKind,
    /** Passing runs, because a run that failed early may not name its models and keys. */
    readonly alike: readonly Tape[],
    /**
     * Variables that the user set for trials, names that the unchanged code reads, and where models
     * are if no tape says it.
     */
    readonly variables: {
      readonly given: ReadonlySet<string>
      readonly named: ReadonlySet<string>
      readonly models?: ModelVariables
    } = {
      given: new Set(),
      named: new Set(),
    },
  ) {}

  /** The best sandbox for trials of a run here, or why there is none. */
  static kindFor(tape: Tape): { readonly kind?: SandboxKind; readonly why?: string } {
    if (process.env['RETAKE_SANDBOX'] === 'around') return { kind: 'around' }
    const missing = sandboxMissing()
    if (missing === undefined) return { kind: 'bubblewrap' }
    // Processes and threads do not inherit permissions, so neither may be started.
    const { execArgv = [], env = {}, entry = '' } = tape.details
    if (hasTypeScriptLoader(execArgv, env))
      return {
        why: `${missing}, and the TypeScript loader starts a process, which Node's permission model does not confine`,
      }
    if (!('registerHooks' in module) && /\.[cm]?tsx?(?:#|$)/.test(entry))
      return {
        why: `${missing}, and this version of Node compiles TypeScript in a thread, which its permission model does not confine`,
      }
    return { kind: 'permissions', why: missing }
  }

  /** Starts the processes of trials; undefined if they are already confined. */
  launcher(copy: ProjectCopy): TrialLauncher | undefined {
    if (this.kind === 'around') return undefined
    const code = [...importedFolders(copy.project.folder), ...ownFolders()]
    return (tape, isLive) => {
      const isIsolated = this.kind === 'bubblewrap'
      const confine = isIsolated ? this.#isolated : this.#permitted
      const start: Launch['start'] = (file, args, options, own) => {
        const tapes = [tape, ...this.alike]
        const env = this.#scrubbed(tapes, options.env ?? {}, isLive)
        const { cwd = copy.folder } = options
        // A branch is read with its folder, which contains its ancestors.
        const tapePath = path.resolve(tape.path)
        const certificates = CERTIFICATES.flatMap((name) =>
          env[name] ? [path.resolve(env[name])] : [],
        )
        const confinement: Confinement = {
          read: [
            ...code,
            tape.run.parent === undefined ? tapePath : path.dirname(tapePath),
            ...certificates,
          ],
          write: [copy.folder, this.folder, own],
          hidden: [],
          network: 'closed',
          cwd: String(cwd),
          // A user's TypeScript loader runs its compiler as a process.
          processes: hasTypeScriptLoader(tape.details.execArgv ?? [], env),
        }
        const endpoints = isLive ? this.#endpointsOf(tapes) : undefined
        const started = { file, args, options: { ...options, cwd, env: { ...env, TMPDIR: own } } }
        return confine(started, confinement, endpoints)
      }
      // Any signal ends bubblewrap, but not a process that it is just starting.
      return {
        start,
        kill: isIsolated ? endWithDescendants : (child, signal) => child.kill(signal),
        isDetached: isIsolated,
      }
    }
  }

  /** True if a live trial cannot reach a `host:port`, and no tape says where models are. */
  lacks(address: string, tape: Tape): boolean {
    const tapes = [tape, ...this.alike]
    if (this.kind !== 'bubblewrap' || modelEndpoints(tapes).length > 0) return false
    return !this.#endpointsOf(tapes).some(({ host, port }) => `${host}:${port}` === address)
  }

  #endpointsOf(tapes: readonly Tape[]): readonly ModelAddress[] {
    const recorded = modelEndpoints(tapes)
    return recorded.length > 0 ? recorded : (this.variables.models?.endpoints ?? [])
  }

  readonly #isolated: Confine = ({ file, args, options }, confinement, endpoints) => {
    const forwarding = endpoints && forwardingOf(endpoints, (each) => this.#socketOf(each))
    const stdio = Array.isArray(options.stdio)
      ? options.stdio
      : [options.stdio, options.stdio, options.stdio]
    const command = [
      ...limited(file),
      ...(forwarding ? [`--import=${labEntry('forward-thread').href}`] : []),
      ...args,
    ]
    const env = { ...options.env }
    if (forwarding) env['RETAKE_FORWARDING'] = JSON.stringify(forwarding)
    // Resolves host names to addresses on the sandbox's loopback, where they are forwarded.
    const hosts = path.join(this.folder, 'hosts')
    if (forwarding) writeFileSync(hosts, hostsText(forwarding))
    const reachable = forwarding && { sockets: forwarding.map(({ socket }) => socket), hosts }
    return startConfined(
      { ...confinement, ...reachable },
      command,
      stdio,
      (program, words, descriptors) =>
        spawn(program, words, { ...options, cwd: '/', env, stdio: descriptors, detached: true }),
    )
  }

  /** Runs under Node's permission model, which does not cover the network before Node 25. */
  readonly #permitted: Confine = ({ file, args, options }, confinement, endpoints) => {
    const isOnline =
      endpoints !== undefined && process.allowedNodeEnvironmentFlags.has('--allow-net')
    const flags = [
      ...permissionFlags(confinement),
      ...(isOnline ? ['--allow-net'] : []),
      '--disable-warning=SecurityWarning',
    ]
    const [program = file, ...before] = process.platform === 'win32' ? [file] : limited(file)
    return spawn(program, [...before, ...flags, ...args], options)
  }

  /** A socket whose connections lead only to one endpoint. */
  #socketOf({ host, port }: ReachableAddress): string {
    const key = `${host}:${port}`
    const known = this.#sockets.get(key)
    if (known !== undefined) return known
    mkdirSync(this.folder, { recursive: true })
    const file = path.join(this.folder, `${this.#sockets.size}.sock`)
    const server = forwardTo({ host, port })
    server.listen(file)
    server.unref()
    this.#servers.push(server)
    this.#sockets.set(key, file)
    return file
  }

  /**
   * Keeps only variables on the tapes, those that the user set, and plain ones that the unchanged code
   * names, because the failed run may have ended before it read them; also those of models, if no tape
   * says where these are. Secrets are placeholders, except in a live trial.
   */
  #scrubbed(tapes: readonly Tape[], env: NodeJS.ProcessEnv, isLive: boolean): NodeJS.ProcessEnv {
    const { given, named: inCode, models } = this.variables
    const isUnknown = modelEndpoints(tapes).length === 0
    // The first tape is the one that is tried.
    const named = new Map(tapes.toReversed().flatMap((tape) => [...environmentOnTape(tape)]))
    const left: NodeJS.ProcessEnv = {}
    for (const [name, value = ''] of Object.entries(env)) {
      const read = named.get(name)
      const isNeeded = NEEDED.test(name) || given.has(name)
      const isOfModel = isUnknown && models?.names.has(name) === true
      // With a placeholder, the SDK gets as far as its request.
      const isKey = isUnknown && PROVIDER_KEYS.has(name)
      if (read === undefined && !isNeeded && !inCode.has(name) && !isOfModel && !isKey) continue
      const isSecret = read?.isSecret === true || (!isNeeded && containsSecret(name, value))
      if (!isSecret || (isLive && (read !== undefined || isOfModel))) left[name] = value
      else if (read?.value) left[name] = read.value
      else if (isOfModel || isKey) left[name] = placeholderFor(name, value)
    }
    return left
  }

  close(): void {
    for (const server of this.#servers) server.close()
  }
}

/** Starts a process of a trial. */
type Confine = (
  started: {
    readonly file: string
    readonly args: readonly string[]
    readonly options: SpawnOptions
  },
  confinement: Confinement,
  endpoints: readonly ReachableAddress[] | undefined,
) => ChildProcess

/** A command that runs a program, with the following arguments, under `LIMITS`. */
const limited = (file: string): string[] => ['/bin/sh', '-c', `${LIMITS}; exec "$@"`, 'sh', file]

/** Folders of Retake itself, which runs inside of the trial's process. */
export function ownFolders(): string[] {
  const packages = ['engine', 'tape/format', 'guard', 'lab', 'runner/runs'].flatMap((name) => {
    const file = fileURLToPath(import.meta.resolve(`@retake/${name}`))
    return path.dirname(path.dirname(file))
  })
  const own = fileURLToPath(commandRoot())
  return [own, ...packages, ...importedFolders(own)]
}

export function modelEndpoints(tapes: readonly Tape[]): ModelAddress[] {
  const found = new Map<string, ModelAddress>()
  for (const step of tapes.flatMap((tape) => viewRun(tape).recordedSteps)) {
    const url = step.kind === 'model' ? step.exchange()?.request.url : undefined
    if (url === undefined || !URL.canParse(url)) continue
    const address = addressOf(url)
    found.set(`${address.host}:${address.port}`, address)
  }
  return [...found.values()]
}
