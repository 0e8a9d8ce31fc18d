import type { Names, Policy } from './policy.js'
import { GuardError } from '../guard-error.js'
import { guardErrors } from '../guard-errors.js'
import { problemText } from './check-policy.js'
import { DataCheck } from './data-check.js'

export interface ReadOnlyOptions {
  /** Folders that may be read; any unless set. */
  readonly read?: readonly string[]
  /** Hosts that may be connected to; every public one unless set, none when empty. */
  readonly hosts?: readonly string[]
  /** Addresses that are not public and may be connected to all the same, such as `127.0.0.1:8080`. */
  readonly addresses?: readonly string[]
}

export interface SandboxOptions {
  /** The folder, or folders, that may be read and written. */
  readonly root: string | readonly string[]
  /** More folders that may be read. */
  readonly read?: readonly string[]
  /** Folders that may be written, instead of all of `root`. */
  readonly write?: readonly string[]
  /** Hosts that may be reached; none unless set. */
  readonly hosts?: readonly string[]
  /** Addresses that are not public and may be reached. */
  readonly addresses?: readonly string[]
  /** Programs that may be started, as argument vectors; none unless set. */
  readonly programs?: readonly (readonly string[])[]
  /** Variables that programs may be given although this process has not set them; `*` matches any characters. */
  readonly env?: readonly string[]
}

interface NoShellOptions {
  /** Argument vectors that may be started all the same. */
  readonly except?: readonly (readonly string[])[]
  /** Variables that programs may be given although this process has not set them; `*` matches any characters. */
  readonly env?: readonly string[]
}

export interface NetworkOptions {
  /** Hosts, such as `api.example.com` or `*.example.com:8443`. */
  readonly allow: readonly string[]
  /** Addresses that are not public and may be reached, such as `10.1.0.0/16`. */
  readonly addresses?: readonly string[]
  /** HTTP methods; every one unless set. */
  readonly methods?: readonly string[]
}

export interface StrictOptions {
  /** Tools that may run; `*` matches any characters. */
  readonly allow?: Names
  /** Tools that somebody has to approve. */
  readonly ask?: Names
}

const SANDBOX = ['root', 'read', 'write', 'hosts', 'addresses', 'programs', 'env']

/** Policies to start with. Several together: the strictest applies. */
export const presets = {
  /**
   * Nothing is changed: no file is written, no program started, no request made but with a safe
   * HTTP method to a public address. Only tools that declare their effects run, and none that
   * declares to write, start programs or spend; each is limited to what it declares.
   *
   *     const run = guard({ name: 'research', policy: presets.readOnly() })
   *     run.tool('search', search, { effects: ['read', 'network'] })
   *
   * Not promised: a server that changes something on GET.
   */
  readOnly: (options: ReadOnlyOptions = {}): Policy => {
    checkPreset('readOnly', options, ['read', 'hosts', 'addresses'])
    const { read, hosts, addresses } = options
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
          // The rule before it takes tools that declare one of these: what is left declares nothing.
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
   * Files below `root` only, for reading and writing; no network and no programs, unless given.
   *
   *     guard({ name: 'coder', policy: presets.sandbox({ root: './work', programs: [['date', '+%F']] }) })
   *
   * Not checked: what an allowed program does once started. Do not list git, npm, make, node or
   * anything else that runs code named in files below `root`: a tool that writes files there decides
   * what such a program runs.
   */
  sandbox: (options: SandboxOptions): Policy => {
    checkPreset('sandbox', options, SANDBOX, 'root')
    const { root, read = [], write, hosts = [], addresses, programs = [], env } = options
    const roots = typeof root === 'string' ? [root] : root
    return {
      name: 'sandbox',
      files: { read: [...roots, ...read, ...(write ?? [])], write: write ?? roots },
      network: { allow: hosts, ...(addresses && { addresses }) },
      shell: { allow: programs, ...(env && { env }) },
    }
  },
  /**
   * Only these hosts are reached, at public addresses unless others are listed. Says
   * nothing about files; add `noShell`, since a program goes where it likes.
   *
   *     guard({ name: 'mail', policy: [presets.network({ allow: ['api.example.com'] }), presets.noShell()] })
   */
  network: (options: NetworkOptions): Policy => {
    checkPreset('network', options, ['allow', 'addresses', 'methods'], 'allow')
    const { allow, addresses, methods } = options
    return {
      name: 'network',
      network: { allow, ...(addresses && { addresses }), ...(methods && { methods }) },
    }
  },
  /**
   * No program is started, but for the argument vectors in `except`.
   *
   *     guard({ name: 'notes', policy: presets.noShell({ except: [['date', '+%F']] }) })
   *
   * `sandbox` says which programs not to list beside a tool that writes files.
   */
  noShell: (options: NoShellOptions = {}): Policy => {
    checkPreset('noShell', options, ['except', 'env'])
    const { except = [], env } = options
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
   * Denies by default: only the tools that are listed run, those under `ask` once somebody approved.
   *
   *     guard({ name: 'support', policy: presets.strict({ allow: ['search', 'read_*'], ask: 'refund' }) })
   *
   * Says nothing about what they touch: add `sandbox` or `readOnly`.
   */
  strict: (options: StrictOptions = {}): Policy => {
    checkPreset('strict', options, ['allow', 'ask'])
    const { allow = [], ask = [] } = options
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

/** Throws at options of a preset that it does not have, and where one that it needs is missing. */
function checkPreset(name: string, data: unknown, keys: readonly string[], needed?: string): void {
  const check = new DataCheck()
  const options = check.object([], data ?? {}, 'What it takes', keys)
  if (options !== undefined && needed !== undefined && options[needed] === undefined)
    check.add([], `It needs \`${needed}\`.`)
  if (check.problems.length > 0)
    throw new GuardError(
      guardErrors.optionsInvalid(`preset "${name}"`, check.problems.map(problemText)),
    )
}
