import type { Effect } from '@retake/tape/format'
import type { Denial } from '../guard-error.js'
import type { GuardedTool } from '../guarded-tool.js'
import type { Policy } from '../policy/policy.js'
import { type FileBounds, fileBounds } from './file-bounds.js'
import { type NetworkBounds, networkBounds } from './network-bounds.js'
import { type ShellBounds, shellBounds } from './shell-bounds.js'

/**
 * How a file is used. `look`: its kind and size, not its content. `enter`: as working directory.
 * `unseen`: in a way that shows no path. `changed`: by a path that was exchanged after the check.
 */
export type FileAccess = 'read' | 'write' | 'look' | 'enter' | 'unseen' | 'changed'

export interface Command {
  readonly file: string
  readonly args: readonly string[]
  /** The command is text for a shell. */
  readonly shell: boolean
  /** Other things that count as programs, because boundaries cannot see inside. Default `program`. */
  readonly kind?: 'program' | 'worker' | 'signal' | 'addon'
  /** The name it is called by, if that is not `file`. */
  readonly argv0?: string
  /** Working directory; default that of this process. */
  readonly cwd?: string
  /** Its variables; default those of this process. */
  readonly env?: Readonly<Record<string, string>>
  readonly otherUser?: boolean
}

/** Compiled scopes of one policy, or of the declared effects of a tool. Checks return a denial or undefined. */
export interface Scopes {
  readonly files?: FileBounds
  readonly network?: NetworkBounds
  readonly shell?: ShellBounds
  /** The policy asks for approvals, so programs run in the sandbox, where the key cannot be read. */
  readonly needsApproval?: true
  /** Replaces the text of denials while a tool runs. */
  readonly reword?: (denial: Denial) => Denial
}

/** Folders a tool may use. A missing list means anywhere, an empty one nowhere. */
export interface FileScope {
  readonly read?: readonly string[]
  readonly write?: readonly string[]
}

/** Where a tool may connect to. Private, loopback, link-local and metadata addresses must be listed. */
export interface NetworkScope {
  /** Hosts, such as `api.example.com`, `*.example.com` or `example.com:8443`. Missing: every public one; empty: none. */
  readonly allow?: readonly string[]
  /** Addresses and ranges that are allowed although they are not public, such as `127.0.0.1:5432`, `10.1.0.0/16`, `[::1]:80` or `unix:/run/db.sock`. */
  readonly addresses?: readonly string[]
  /** HTTP methods; default all. With it, connections that do not speak HTTP are refused. */
  readonly methods?: readonly string[]
}

/** Programs a tool may start. */
export interface ShellScope {
  /**
   * Argument vectors: program, then arguments. Missing: every program; empty: none.
   *
   * `*` matches one argument, `**` at the end any number; neither matches an argument that starts
   * with `-`. `-*` matches one option, `-**` at the end anything. Inside an argument, such as
   * `--file=*`, `*` matches any characters.
   *
   * A program is a path, or a name in the `PATH` at the time the guard was created. Text for a shell
   * must be listed word for word: `['sh', '-c', 'ls | wc -l']`. A worker thread is
   * `['worker', file]`, a native add-on `['addon', file]`, a signal `['kill', '-SIGTERM', pid]`.
   */
  readonly allow?: readonly (readonly string[])[]
  /** Variables that may differ from those of this process; `*` matches any characters. */
  readonly env?: readonly string[]
}

export const policyScopes = ({
  name,
  files,
  network,
  shell,
  rules = [],
  ...policy
}: Policy): Scopes => ({
  ...((policy.default === 'ask' || rules.some(({ ask }) => ask !== undefined)) && {
    needsApproval: true,
  }),
  ...(files && { files: fileBounds(name, files) }),
  ...(network && { network: networkBounds(name, network) }),
  ...(shell && { shell: shellBounds(name, shell) }),
})

/** The scopes of the policies and of the declared effects of a tool. Cached, because each call needs them. */
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

/** Enforces declared effects. Reading files needs no declaration, because every program does it. */
function effectScopes(effects: readonly Effect[]): Scopes {
  const may = (effect: Effect): boolean => effects.includes(effect)
  return {
    ...(may('write') ? {} : { files: fileBounds('tool', { write: [] }) }),
    ...(may('network') ? {} : { network: networkBounds('tool', { allow: [] }) }),
    ...(may('shell') ? {} : { shell: shellBounds('tool', { allow: [] }) }),
    reword: (denial) => undeclared(denial, effects),
  }
}

const MISSING: Readonly<Record<string, Effect>> = {
  'tool/files': 'write',
  'tool/network': 'network',
  'tool/shell': 'shell',
}

const undeclared = ({ rule, what }: Denial, effects: readonly Effect[]): Denial => ({
  code: 'EFFECT_NOT_DECLARED',
  rule: 'tool/effects',
  what,
  why: `The tool declares ${effects.length === 0 ? 'no effects' : `only ${effects.join(', ')}`}.`,
  allowed: `Declare the effect "${MISSING[rule]}" if the tool is meant to do this.`,
})
