import {
  type DataCheck,
  type DataPath,
  eachOf,
  listWith,
  objectOf,
  type DataSchema,
  type TypeOfFields,
} from '@retake/engine/schema'
import { attempt } from '@retake/tape/format'
import type { Effect, GuardVerdict } from '@retake/tape/guards'
import type { Denial } from '../denials/guard-error.js'
import type { GuardedTool } from '../contract/guarded-tool.js'
import { ownFields } from '../data/own-data.js'
import { type Confinement, type FileRoots, isBelow } from '@retake/runner/sandbox'
import { ownLocations, ownReadOnly } from '../paths/own-files.js'
import { type FileBounds, fileBounds } from './file-bounds.js'
import {
  hostPattern,
  ListedAddresses,
  type NetworkBounds,
  networkBounds,
} from './network-bounds.js'
import { ArgumentVector, type ShellBounds, shellBounds } from './shell-bounds.js'

/**
 * How a file is used. `look`: metadata only. `enter`: as the working directory. `unseen`: in a way
 * that hides the path. `changed`: the entry was replaced after the check.
 */
export type FileAccess = 'read' | 'write' | 'look' | 'enter' | 'unseen' | 'changed'

export interface Command {
  readonly file: string
  readonly args: readonly string[]
  /** True if `file` is a command line for a shell. */
  readonly shell: boolean
  /** Workers, signals and add-ons are checked like programs. Default `program`. */
  readonly kind?: 'program' | 'worker' | 'signal' | 'addon'
  /** Its `argv[0]`, if that is not `file`. */
  readonly argv0?: string
  /** Working directory; default that of this process. */
  readonly cwd?: string
  /** Environment variables; default those of this process. */
  readonly env?: Readonly<Record<string, string>>
  readonly otherUser?: boolean
}

/** Compiled scopes of one policy, or of the effects that a tool declares. */
export interface Scopes {
  readonly files?: FileBounds
  readonly network?: NetworkBounds
  readonly shell?: ShellBounds
  /** The policy has `ask` rules, so programs run in a sandbox that hides the approval key. */
  readonly needsApproval?: true
  /** Rewrites denials. Only set for the effects of a tool. */
  readonly reword?: (denial: Denial) => Denial
}

const folders = strings('A folder', (text) =>
  text.includes('\0') ? 'A folder has no null byte.' : undefined,
)

const FILE_SCOPE = { read: folders, write: folders }

/** Folders that a tool may use. A missing list allows all files, an empty list none. */
export type FileScope = TypeOfFields<typeof FILE_SCOPE>

const NETWORK_SCOPE = {
  /** Hosts such as `api.example.com`, `*.example.com` or `example.com:8443`. Default: every public host. */
  allow: strings('A host', hostProblem),
  /** Non-public addresses, such as `127.0.0.1:5432`, `10.1.0.0/16`, `[::1]:80` or `unix:/run/db.sock`. */
  addresses: strings('An address', (text) =>
    attempt(() => new ListedAddresses([text])) === undefined
      ? `"${text}" is not an address such as 127.0.0.1:5432, 10.1.0.0/16, [::1]:8080 or unix:/run/db.sock. Names belong under allow.`
      : undefined,
  ),
  /** HTTP methods; default all. If set, connections other than HTTP are refused. */
  methods: strings('A method', (text) =>
    /^[A-Z]+$/i.test(text) ? undefined : `"${text}" is not an HTTP method such as GET.`,
  ),
}

/** Hosts that a tool may connect to. Addresses that are not public must be listed in `addresses`. */
export type NetworkScope = TypeOfFields<typeof NETWORK_SCOPE>

const SHELL_SCOPE = {
  /**
   * Argument vectors: a program, then its arguments. Default: every program. An empty list: none.
   *
   * `*` matches one argument, `**` at the end any number; neither matches an argument that starts
   * with `-`. `-*` matches one option, `-**` at the end anything. Inside an argument, such as
   * `--file=*`, `*` matches any characters.
   *
   * A program is a path, or a name in the `PATH` at the time the guard was created. Shell commands
   * must be listed verbatim: `['sh', '-c', 'ls | wc -l']`. A worker thread is `['worker', file]`, a
   * native add-on `['addon', file]`, a signal `['kill', '-SIGTERM', pid]`.
   */
  allow: listWith<readonly string[]>(argumentVector, 'What may be started'),
  /** Environment variables that may differ from those of this process; `*` matches any characters. */
  env: strings('A variable', (text) =>
    /[=\0]/.test(text) ? 'It must be only the name of a variable.' : undefined,
  ),
}

/** Programs that a tool may start. */
export type ShellScope = TypeOfFields<typeof SHELL_SCOPE>

/** Scopes as policies declare them. */
export const scopeSchemas = {
  /** Files that a tool may read and write. */
  files: objectOf(FILE_SCOPE, 'A file scope'),
  /** Hosts that a tool may reach. */
  network: objectOf(NETWORK_SCOPE, 'A network scope'),
  /** Programs that a tool may start. */
  shell: objectOf(SHELL_SCOPE, 'A shell scope'),
}

/** A list of strings without problems. */
function strings(
  subject: string,
  problemOf: (text: string) => string | undefined,
): DataSchema<readonly string[]> {
  return (check, path, data) => {
    if (!check.list(path, data, `"${path.at(-1)}"`)) return
    for (const [at, each] of eachOf(path, data)) {
      const problem = check.text(at, each, subject) ? problemOf(each) : undefined
      if (problem !== undefined) check.add(at, problem)
    }
  }
}

function hostProblem(text: string): string | undefined {
  if (text.includes('://')) {
    const host = URL.canParse(text) ? new URL(text).host : 'example.com'
    return `"${text}" is an address with a scheme; write the host, such as ${host}.`
  }
  if (/[/?#@\s]/.test(text)) return `"${text}" is more than a host; leave out path and user.`
  return attempt(() => hostPattern(text)) === undefined
    ? `"${text}" is not a host such as api.example.com, *.example.com or example.com:8443.`
    : undefined
}

function argumentVector(check: DataCheck, path: DataPath, data: unknown): void {
  if (typeof data === 'string')
    return check.add(
      path,
      `Write the program and its arguments as a list: [${data.split(/\s+/).join(', ')}].`,
    )
  if (!check.list(path, data, 'A command')) return
  const wrong = data.findIndex((part) => typeof part !== 'string' || part.includes('\0'))
  if (wrong >= 0) return check.add([...path, wrong], 'It must be a string without null bytes.')
  const { mistake } = new ArgumentVector(data as readonly string[])
  if (mistake !== undefined) check.add(path, `It cannot be used: ${mistake}.`)
}

/** The parts of a policy that scopes depend on. */
interface ScopedPolicy {
  readonly name: string
  readonly default?: GuardVerdict
  readonly rules?: readonly { readonly ask?: unknown }[]
  readonly files?: FileScope
  readonly network?: NetworkScope
  readonly shell?: ShellScope
}

export const policyScopes = ({
  name,
  files,
  network,
  shell,
  rules = [],
  ...policy
}: ScopedPolicy): Scopes =>
  ownFields({
    ...((policy.default === 'ask' || rules.some(({ ask }) => ask !== undefined)) && {
      needsApproval: true,
    }),
    ...(files && { files: fileBounds(name, files) }),
    ...(network && { network: networkBounds(name, network) }),
    ...(shell && { shell: shellBounds(name, shell) }),
  })

/** The scopes of the policies and of the effects that a tool declares. Cached per tool. */
export function toolScopes(policies: readonly Scopes[], tool: GuardedTool): readonly Scopes[] {
  const { effects } = tool.options
  if (effects === undefined) return policies
  let byEffects = compiled.get(policies)
  if (byEffects === undefined) compiled.set(policies, (byEffects = new WeakMap()))
  let scopes = byEffects.get(effects)
  if (scopes === undefined) byEffects.set(effects, (scopes = [...policies, effectScopes(effects)]))
  return scopes
}

const compiled = new WeakMap<readonly Scopes[], WeakMap<readonly Effect[], readonly Scopes[]>>()

/** Enforces declared effects. Reading files is always allowed, because every program does it. */
function effectScopes(effects: readonly Effect[]): Scopes {
  const may = (effect: Effect): boolean => effects.includes(effect)
  return ownFields({
    ...(may('write') ? {} : { files: fileBounds('tool', { write: [] }) }),
    ...(may('network') ? {} : { network: networkBounds('tool', { allow: [] }) }),
    ...(may('shell') ? {} : { shell: shellBounds('tool', { allow: [] }) }),
    reword: ({ rule, what, fields }: Denial): Denial => ({
      code: 'EFFECT_NOT_DECLARED',
      rule: 'tool/effects',
      what,
      why: `The tool declares ${effects.length === 0 ? 'no effects' : `only ${effects.join(', ')}`}.`,
      allowed: `Declare the effect "${MISSING[rule]}" if the tool is meant to do this.`,
      ...(fields && { fields }),
    }),
  })
}

const MISSING: Readonly<Record<string, Effect>> = {
  'tool/files': 'write',
  'tool/network': 'network',
  'tool/shell': 'shell',
}

/** The intersection of all scopes, for a process that starts in `cwd`. */
export function confinementOf(scopes: readonly Scopes[], cwd: string): Confinement {
  const common = (roots: (files: FileBounds) => FileRoots | undefined) =>
    scopes
      .map(({ files }) => files && roots(files)?.folders)
      .reduce((all, each) => (all && each ? intersection(all, each) : (all ?? each)), undefined)
  return {
    read: common(({ roots }) => roots.read),
    write: common(({ roots }) => roots.write),
    hidden: ownLocations(),
    readOnly: ownReadOnly(),
    network: scopes.some(({ network }) => network !== undefined) ? 'closed' : 'open',
    cwd,
  }
}

/** For each pair of folders of which one contains the other, the inner one. */
const intersection = (some: readonly string[], others: readonly string[]): readonly string[] =>
  some.flatMap((a) => others.flatMap((b) => (isBelow(a, b) ? [a] : isBelow(b, a) ? [b] : [])))
