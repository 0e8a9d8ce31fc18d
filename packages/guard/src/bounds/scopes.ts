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
  /** Other things that count as a program, because boundaries cannot see inside. `program` unless set. */
  readonly kind?: 'program' | 'worker' | 'signal' | 'addon'
  /** The name it is called by, where that is not `file`. */
  readonly argv0?: string
  /** The folder it starts in; that of this process unless set. */
  readonly cwd?: string
  /** Every variable it would get; those of this process unless set. */
  readonly env?: Readonly<Record<string, string>>
  /** It would run as another user or group. */
  readonly otherUser?: boolean
}

/** Compiled scopes of one policy, or of the effects that a tool declares. Each returns a denial, or undefined. */
export interface Scopes {
  readonly files?: {
    /** The folders themselves, for a sandbox that mounts them. */
    readonly roots: { readonly read: FileRoots | undefined; readonly write: FileRoots | undefined }
    check(access: FileAccess, path: string): Denial | undefined
    /** Looks at one text among the arguments, before the tool starts. */
    inspect(text: string, at: string): Denial | undefined
  }
  readonly network?: {
    checkRequest(method: string, url: URL): Denial | undefined
    /** Before a name is resolved; with `raw` it is not known that HTTP will be spoken. */
    checkHost(host: string, port: number, raw: boolean): Denial | undefined
    checkAddress(address: string, port: number, host: string): Denial | undefined
    /** Before a name is resolved, which reveals it to others. */
    checkLookup(host: string): Denial | undefined
    /** A request that follows a redirect of another host. */
    checkRedirect(method: string, url: URL, from: URL): Denial | undefined
    /** A socket or pipe of this machine. */
    checkSocket(path: string): Denial | undefined
    /** Something that turned out not to be HTTP. */
    checkRaw(where: string): Denial | undefined
    checkListen(): Denial | undefined
    /** Looks at one text among the arguments, before the tool starts. */
    inspect(text: string, at: string): Denial | undefined
  }
  readonly shell?: {
    /**
     * `isConfined`: it runs in a sandbox. Without one, patterns are not enough. `isContained`: the
     * sandbox shows listed folders only.
     */
    check(command: Command, isConfined: boolean, isContained?: boolean): Denial | undefined
  }
  /** Calls are approved: programs run in the sandbox, where the key for that cannot be read. */
  readonly needsApproval?: true
  /** Says what these scopes refuse while a tool runs in words of its own. */
  readonly reword?: (denial: Denial) => Denial
}

/** Folders a tool may use. A missing list means anywhere, an empty one nowhere. */
export interface FileScope {
  readonly read?: readonly string[]
  readonly write?: readonly string[]
}

/** Where a tool may connect to. Private, loopback, link-local and metadata addresses are refused unless they are listed. */
export interface NetworkScope {
  /** Hosts, such as `api.example.com`, `*.example.com` or `example.com:8443`. Missing: every public one; empty: none. */
  readonly allow?: readonly string[]
  /** Addresses and ranges that are allowed although they are not public, such as `127.0.0.1:5432`, `10.1.0.0/16`, `[::1]:80` or `unix:/run/db.sock`. */
  readonly addresses?: readonly string[]
  /** HTTP methods; every one unless set. With it, connections that do not speak HTTP are refused. */
  readonly methods?: readonly string[]
}

/** Programs a tool may start. */
export interface ShellScope {
  /**
   * Argument vectors: program, then arguments. Missing: every program; empty: none.
   *
   * `*` fits one argument, `**` at the end any number; neither fits an argument that starts
   * with `-`, because options can turn one program into another. `-*` fits one option, `-**`
   * at the end anything. Inside an argument, such as `--file=*`, `*` matches any characters.
   *
   * A program is a name, looked up in the `PATH` the guard was made with, or a path. Text for
   * a shell fits only a vector that holds it word for word: `['sh', '-c', 'ls | wc -l']`. A
   * worker thread is `['worker', file]`, a native addon `['addon', file]`, a signal to another
   * process `['kill', '-SIGTERM', pid]`.
   */
  readonly allow?: readonly (readonly string[])[]
  /**
   * Variables a program may be given that this process has not, or has with another value;
   * `*` matches any characters. None unless set.
   */
  readonly env?: readonly string[]
}
