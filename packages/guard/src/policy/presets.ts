import type { Names } from '../data/name-pattern.js'
import type { Policy } from './policy.js'
import { ownData } from '../data/own-data.js'
import { anything, objectOf, required } from '@retake/engine/schema'
import { checkOptions } from '../denials/check-options.js'

export interface ReadOnlyOptions {
  /** Folders that may be read; default any. */
  readonly read?: readonly string[]
  /** Hosts; default every public one. */
  readonly hosts?: readonly string[]
  /** Addresses that are not public, such as `127.0.0.1:8080`. */
  readonly addresses?: readonly string[]
}

export interface SandboxOptions {
  /** Folder or folders that may be read and written. */
  readonly root: string | readonly string[]
  /** More folders that may be read. */
  readonly read?: readonly string[]
  /** Folders that may be written, instead of all of `root`. */
  readonly write?: readonly string[]
  /** Hosts; default none. */
  readonly hosts?: readonly string[]
  /** Addresses that are not public. */
  readonly addresses?: readonly string[]
  /** Argument vectors of programs; default none. */
  readonly programs?: readonly (readonly string[])[]
  /** Variables of programs that may differ from those of this process; `*` matches any characters. */
  readonly env?: readonly string[]
}

interface NoShellOptions {
  /** Argument vectors of programs that are allowed. */
  readonly except?: readonly (readonly string[])[]
  /** Variables of programs that may differ from those of this process; `*` matches any characters. */
  readonly env?: readonly string[]
}

export interface NetworkOptions {
  /** Hosts, such as `api.example.com` or `*.example.com:8443`. */
  readonly allow: readonly string[]
  /** Addresses that are not public, such as `10.1.0.0/16`. */
  readonly addresses?: readonly string[]
  /** HTTP methods; default all. */
  readonly methods?: readonly string[]
}

export interface StrictOptions {
  /** Tools that may run; `*` matches any characters. */
  readonly allow?: Names
  /** Tools that need approval. */
  readonly ask?: Names
}

const SANDBOX = ['root', 'read', 'write', 'hosts', 'addresses', 'programs', 'env']

/** Ready-made policies. */
export const presets = {
  /**
   * No writes, no programs, and only requests with a safe HTTP method to public addresses. Tools run
   * only if they declare their effects and these do not include `write`, `shell` or `spend`.
   *
   *     const run = guard({ name: 'research', policy: presets.readOnly() })
   *     run.tool('search', search, { effects: ['read', 'network'] })
   *
   * Not promised: a server that changes something on GET.
   */
  readOnly: (options: ReadOnlyOptions = {}): Policy => {
    checkPreset('readOnly', options, ['read', 'hosts', 'addresses'])
    const { read, hosts, addresses } = ownData(options)
    return {
      name: 'readOnly',
      files: { ...(read && { read }), write: [] },
      network: {
        ...(hosts && { allow: hosts }),
        ...(addresses && { addresses }),
        methods: ['GET', 'HEAD', 'OPTIONS'],
      },
      shell: { allow: [] },
      rules: [
        {
          id: 'no-effects',
          deny: '*',
          declares: ['write', 'shell', 'spend'],
          because: 'Nothing may be changed.',
        },
        {
          // Tools that declare one of these effects match the rule above.
          id: 'undeclared',
          deny: '*',
          effect: ['write', 'shell', 'spend'],
          code: 'EFFECT_NOT_DECLARED',
          because: 'The tool does not declare its effects, so it may change anything.',
          instead: `Declare what it does: run.tool(name, fn, { effects: ['read', 'network'] }), or effects: [] if it touches nothing.`,
        },
      ],
    }
  },
  /**
   * Only files below `root`; no network and no programs unless listed.
   *
   *     guard({ name: 'coder', policy: presets.sandbox({ root: './work', programs: [['date', '+%F']] }) })
   *
   * Programs run in a sandbox. Without one, do not list git, npm, make, node or anything else that
   * runs code from files below `root`.
   */
  sandbox: (options: SandboxOptions): Policy => {
    checkPreset('sandbox', options, SANDBOX, 'root')
    const { root, read = [], write, hosts = [], addresses, programs = [], env } = ownData(options)
    const roots = typeof root === 'string' ? [root] : root
    return {
      name: 'sandbox',
      files: { read: [...roots, ...read, ...(write ?? [])], write: write ?? roots },
      network: { allow: hosts, ...(addresses && { addresses }) },
      shell: { allow: programs, ...(env && { env }) },
    }
  },
  /**
   * Only these hosts, at public addresses unless listed. Does not restrict files.
   *
   *     guard({ name: 'mail', policy: [presets.network({ allow: ['api.example.com'] }), presets.noShell()] })
   */
  network: (options: NetworkOptions): Policy => {
    checkPreset('network', options, ['allow', 'addresses', 'methods'], 'allow')
    const { allow, addresses, methods } = ownData(options)
    return {
      name: 'network',
      network: { allow, ...(addresses && { addresses }), ...(methods && { methods }) },
    }
  },
  /**
   * No programs, except for the argument vectors in `except`.
   *
   *     guard({ name: 'notes', policy: presets.noShell({ except: [['date', '+%F']] }) })
   */
  noShell: (options: NoShellOptions = {}): Policy => {
    checkPreset('noShell', options, ['except', 'env'])
    const { except = [], env } = ownData(options)
    return {
      name: 'noShell',
      shell: { allow: except, ...(env && { env }) },
      ...(except.length === 0 && {
        rules: [
          {
            id: 'no-programs',
            deny: '*',
            declares: 'shell',
            because: 'No program may be started.',
          },
        ],
      }),
    }
  },
  /**
   * Only listed tools run; those under `ask` need approval.
   *
   *     guard({ name: 'support', policy: presets.strict({ allow: ['search', 'read_*'], ask: 'refund' }) })
   *
   * Does not restrict files and network: add `sandbox` or `readOnly`.
   */
  strict: (options: StrictOptions = {}): Policy => {
    checkPreset('strict', options, ['allow', 'ask'])
    const { allow = [], ask = [] } = ownData(options)
    return {
      name: 'strict',
      default: 'deny',
      rules: [
        ...(ask.length === 0 ? [] : [{ id: 'approved', ask }]),
        ...(allow.length === 0 ? [] : [{ id: 'listed', allow }]),
      ],
    }
  },
}

/** Throws if an option of a preset is unknown or a required one is missing. */
function checkPreset(name: string, data: unknown, keys: readonly string[], needed?: string): void {
  const fields = keys.map((key) => [
    key,
    key === needed ? required(anything(), `It needs \`${needed}\`.`) : anything(),
  ])
  checkOptions(
    `preset "${name}"`,
    objectOf(Object.fromEntries(fields), 'Its options'),
    ownData(data ?? {}),
  )
}
