import type { Effect, GuardVerdict } from '@retake/tape/guards'
import type { Denial } from '../denials/guard-error.js'
import type { GuardedTool } from '../contract/guarded-tool.js'
import { ownFields } from '../data/own-data.js'
import { type FileRoots, isBelow } from '@retake/runner/sandbox'
import { ownLocations, ownReadOnly } from '../paths/own-files.js'
import type { Confinement } from '@retake/runner/sandbox'
import { type FileBounds, fileBounds } from './file-bounds.js'
import { type NetworkBounds, networkBounds } from './network-bounds.js'
import { type ShellBounds, shellBounds } from './shell-bounds.js'

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

/** Folders that a tool may use. A missing list allows all files, an empty list none. */
export interface FileScope {
  readonly read?: readonly string[]
  readonly write?: readonly string[]
}

/** Hosts that a tool may connect to. Addresses that are not public must be listed in `addresses`. */
export interface NetworkScope {
  /** Hosts such as `api.example.com`, `*.example.com` or `example.com:8443`. Default: every public host. */
  readonly allow?: readonly string[]
  /** Non-public addresses, such as `127.0.0.1:5432`, `10.1.0.0/16`, `[::1]:80` or `unix:/run/db.sock`. */
  readonly addresses?: readonly string[]
  /** HTTP methods; default all. If set, connections other than HTTP are refused. */
  readonly methods?: readonly string[]
}

/** Programs that a tool may start. */
export interface ShellScope {
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
  readonly allow?: readonly (readonly string[])[]
  /** Environment variables that may differ from those of this process; `*` matches any characters. */
  readonly env?: readonly string[]
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
    reword: (denial: Denial) => undeclared(denial, effects),
  })
}

const MISSING: Readonly<Record<string, Effect>> = {
  'tool/files': 'write',
  'tool/network': 'network',
  'tool/shell': 'shell',
}

const undeclared = ({ rule, what, fields }: Denial, effects: readonly Effect[]): Denial => ({
  code: 'EFFECT_NOT_DECLARED',
  rule: 'tool/effects',
  what,
  why: `The tool declares ${effects.length === 0 ? 'no effects' : `only ${effects.join(', ')}`}.`,
  allowed: `Declare the effect "${MISSING[rule]}" if the tool is meant to do this.`,
  ...(fields && { fields }),
})

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
