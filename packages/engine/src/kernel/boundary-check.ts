import type { ChildProcess } from 'node:child_process'
import type http2 from 'node:http2'
import type net from 'node:net'
import type { Session } from './session.js'

export type FetchInput = string | URL | Request

/**
 * Decides what the work of a tool may touch. `insideTool` installs one around that work, and every
 * boundary consults the nearest one before anything native happens, whichever library made the
 * call. A method that gets a native function makes the call itself; a refusal is reported in the
 * way that the function reports errors. A run that is only recorded has no check.
 */
export interface BoundaryCheck {
  file(call: FileCall): unknown
  /** Throws if a file handle may not use its descriptor. */
  descriptor(access: 'read' | 'write', fd: number): void
  fetch(input: FetchInput, init?: RequestInit): Promise<Response>
  /** Opens a connection that no higher boundary has seen. */
  connect(
    socket: net.Socket,
    options: object,
    callback: (() => void) | null,
    native: (...args: unknown[]) => net.Socket,
  ): net.Socket
  /** Throws if an HTTP/2 stream may not be opened. */
  request(origin: URL, headers: http2.OutgoingHttpHeaders): void
  /** Why a resolver may not be queried; undefined if it may. `name` is the function of `node:dns`. */
  lookup(name: string, args: readonly unknown[]): Error | undefined
  /** Starts a child process by calling `start` with the checked options. */
  spawn(
    child: ChildProcess,
    options: SpawnOptions,
    start: (options: SpawnOptions) => number,
  ): number
  /** Throws if a synchronous child process may not be started. */
  spawnSync(options: SpawnOptions): void
}

/** A function of `node:fs`: its name without `Sync`, and how it returns its result. */
export interface CheckedFunction {
  readonly name: string
  readonly style: 'sync' | 'callback' | 'promise' | 'iterator'
}

export interface FileCall extends CheckedFunction {
  readonly args: unknown[]
  /** Makes the call: natively, or in `session`. */
  readonly call: (...args: unknown[]) => unknown
  readonly native: (...args: unknown[]) => unknown
  /** The run between the call and the disk, if there is one. */
  readonly session: Session | undefined
  /** True if Node itself makes the call, for example to load a module. Inspects the stack. */
  readonly isNodesOwn: () => boolean
}

/** The form to which Node reduces every way to start a process. */
export interface SpawnOptions {
  readonly file: string
  /** The first one is the name of the program. */
  readonly args?: readonly unknown[]
  /** `NAME=value` each. */
  readonly envPairs?: readonly string[]
  readonly cwd?: string | undefined
  /** One entry per descriptor of the child, as given or as Node normalizes it. */
  readonly stdio?: unknown
  readonly shell?: unknown
  readonly uid?: number | undefined
  readonly gid?: number | undefined
  readonly detached?: boolean
}
