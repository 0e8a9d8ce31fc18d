import type { Denial } from '../guard-error.js'

export type FileAccess = 'read' | 'write'

/** A program that is about to be started. */
export interface Command {
  readonly file: string
  readonly args: readonly string[]
  /** The command is text for a shell. */
  readonly shell: boolean
}

/** The scopes of one policy, ready to be asked. Each answers with why not, or nothing. */
export interface Scopes {
  readonly files?: {
    check(access: FileAccess, path: string): Denial | undefined
    /** Looks at one text among the arguments, before the tool starts. */
    inspect(text: string, at: string): Denial | undefined
  }
  readonly network?: {
    checkRequest(method: string, url: URL): Denial | undefined
    /** Before a name is resolved; with `raw` it is not known that HTTP will be spoken. */
    checkHost(host: string, port: number, raw: boolean): Denial | undefined
    checkAddress(address: string, port: number, host: string): Denial | undefined
    inspect(text: string, at: string): Denial | undefined
  }
  readonly shell?: {
    check(command: Command): Denial | undefined
    inspect(text: string, at: string): Denial | undefined
  }
}
