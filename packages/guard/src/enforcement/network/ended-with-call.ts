import type net from 'node:net'
import { constants } from 'node:os'
import { expectUnheard } from '../../bounds/unheard-refusals.js'
import { type CallBounds, endWith } from '../../bounds/call-bounds.js'
import { GuardError } from '../../guard-error.js'
import { guardErrors } from '../../guard-errors.js'

/** Where a socket leads. */
export interface Endpoint {
  readonly host: string
  readonly port: number
}

interface Ending {
  once(event: 'close', listener: () => void): unknown
  destroy(error?: Error): unknown
}

/** Pooled sockets of guarded calls that currently send a request of other code. */
const lent = new WeakSet<object>()
const opened = new WeakSet<object>()

/** Ends a connection with the call that opened it. */
export function endWithCall(bounds: readonly CallBounds[], socket: Ending): void {
  opened.add(socket)
  const end = ({ tool }: CallBounds): void => {
    if (lent.has(socket)) return
    const error = cutOff(tool)
    expectUnheard(error)
    socket.destroy(error)
  }
  socket.once('close', endWith(bounds, end))
}

/** True if a guarded call opened the socket. */
export const isOfCall = (socket: net.Socket): boolean => opened.has(socket)

/** Marks whether a pooled socket currently sends a request of other code. */
export function lend(socket: net.Socket, isLent: boolean): void {
  if (isLent) lent.add(socket)
  else lent.delete(socket)
}

/** The reset of a connection: clients that are closing it ignore this error and report others. */
function cutOff(tool: string): Error {
  const cause = new GuardError(guardErrors.GUARD_CALL_OVER(tool))
  const fields = { code: 'ECONNRESET', errno: -constants.errno.ECONNRESET, syscall: 'read' }
  return Object.assign(new Error(cause.message, { cause }), fields)
}
