import type { Denial } from '../guard-error.js'
import type { FileRoots } from './file-roots.js'

/**
 * How a file is used. `look`: its kind and size, not its content. `enter`: as working directory.
 * `unseen`: in a way that shows no path. `changed`: by a path that was exchanged after the check.
 */
export type FileAccess = 'read' | 'write' | 'look' | 'enter' | 'unseen' | 'changed'

/** A program that is about to be started. */
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
  readonly files?: {
    /** Folders for a sandbox to mount. */
    readonly roots: { readonly read: FileRoots | undefined; readonly write: FileRoots | undefined }
    check(access: FileAccess, path: string): Denial | undefined
    /** Checks one text of the arguments before the tool starts. */
    inspect(text: string, at: string): Denial | undefined
  }
  readonly network?: {
    checkRequest(method: string, url: URL): Denial | undefined
    /** Before a name is resolved. `raw`: the protocol may be other than HTTP. */
    checkHost(host: string, port: number, raw: boolean): Denial | undefined
    checkAddress(address: string, port: number, host: string): Denial | undefined
    /** Before a name is resolved, which reveals it to others. */
    checkLookup(host: string): Denial | undefined
    /** A request that follows a redirect of another host. */
    checkRedirect(method: string, url: URL, from: URL): Denial | undefined
    /** A socket or pipe of this machine. */
    checkSocket(path: string): Denial | undefined
    /** A protocol other than HTTP. */
    checkRaw(where: string): Denial | undefined
    checkListen(): Denial | undefined
    inspect(text: string, at: string): Denial | undefined
  }
  readonly shell?: {
    /** `isConfined`: it runs in a sandbox. `isContained`: one that shows listed folders only. */
    check(command: Command, isConfined: boolean, isContained?: boolean): Denial | undefined
  }
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
