import type { Names, Policy } from './policy.js'

/** Policies to start with. Several together: the strictest holds. */
export const presets = {
  /** Files may be read; nothing is written, no program started, no request changes anything. */
  readOnly: (): Policy => ({
    name: 'readOnly',
    files: { write: [] },
    network: { methods: ['GET', 'HEAD', 'OPTIONS'] },
    shell: { allow: [] },
    rules: [{ id: 'no-effects', deny: '*', effect: ['write', 'shell', 'spend'] }],
  }),
  /** Files below `root` only, for reading and writing; no program is started, nothing is reached. */
  sandbox: ({ root }: { readonly root: string }): Policy => ({
    name: 'sandbox',
    files: { read: [root], write: [root] },
    network: { allow: [] },
    shell: { allow: [] },
  }),
  /** Only these hosts are reached. */
  network: ({ allow }: { readonly allow: readonly string[] }): Policy => ({
    name: 'network',
    network: { allow },
  }),
  /** No program is started. */
  noShell: (): Policy => ({ name: 'noShell', shell: { allow: [] } }),
  /** Only the tools that are listed run. */
  strict: ({ allow = [] }: { readonly allow?: Names } = {}): Policy => ({
    name: 'strict',
    default: 'deny',
    rules: [{ id: 'listed', allow }],
  }),
}
