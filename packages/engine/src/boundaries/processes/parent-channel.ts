import { encodeBody, fromWire, toWire } from '@retake/tape/format'
import { siteField } from '../../kernel/call-site.js'
import { currentProcessRun } from '../../kernel/scope.js'
import type { Delivery, Operation } from '../../kernel/session.js'
import { replace, type Undo, undoAll } from '../patching/patch.js'
import { ipcChannel } from './tape-child.js'

type Emit = (event: string | symbol, ...args: unknown[]) => boolean
type Send = (message: unknown, ...rest: unknown[]) => boolean

let isImitated = false

/** True if this process was started with an IPC channel to its parent. */
export const hasParentChannel = (): boolean => process.send !== undefined

/** Makes this process look like one with an IPC channel; the tape has the parent's messages. */
export function imitateParentChannel(): void {
  isImitated = process.send === undefined
}

/**
 * Messages between a process and the parent that started it with `fork`. Incoming messages come
 * through the gate, from the first listener on; outgoing ones are recorded and compared. Not
 * promised: handles of sockets and servers.
 */
export function patchParentChannel(): Undo {
  if (!isImitated && !hasParentChannel()) return () => {}
  const emit = process.emit.bind(process) as Emit
  const send = process.send?.bind(process) as Send | undefined
  const imitatedChannel = ipcChannel(() => undefined)
  let messages: Operation | undefined
  const receive = ({ event }: Delivery): void => {
    if (event.type !== 'deliver') return
    if (event.part === 'disconnect') {
      messages?.close()
      if (isImitated) Object.assign(process, { connected: false })
      emit('disconnect')
    } else if (event.part === 'message') emit('message', fromWire(event.value), undefined)
  }
  const begin = (name: string | symbol): void => {
    const session = name === 'message' ? currentProcessRun() : undefined
    if (session === undefined || messages !== undefined) return
    messages = session.perform({
      event: { type: 'call', kind: 'input', name: 'messages', ...siteField() },
      start: () => {},
      deliver: receive,
    })
  }
  process.on('newListener', begin)
  return undoAll([
    () => process.off('newListener', begin),
    replace(process, 'emit', (event: string | symbol, ...args: unknown[]) => {
      const isOurs = event === 'message' || event === 'disconnect'
      if (!isOurs || messages === undefined || messages.closed) return emit(event, ...args)
      messages.complete({
        type: 'deliver',
        part: event,
        ...(event === 'message' && { value: toWire(args[0]) }),
      })
      return true
    }),
    replace(process, 'send', (message: unknown, ...rest: unknown[]) => sent(send, message, rest)),
    ...(isImitated
      ? [
          replace(process, 'connected', true),
          replace(process, 'channel', imitatedChannel),
          replace(process, 'disconnect', () => {
            Object.assign(process, { connected: false })
            // If there is a listener for messages, the tape has this event.
            if (messages === undefined) process.nextTick(() => emit('disconnect'))
          }),
        ]
      : []),
  ])
}

function sent(native: Send | undefined, message: unknown, rest: unknown[]): boolean {
  const session = currentProcessRun()
  if (session === undefined) return native?.(message, ...rest) ?? false
  const done = rest.findLast((argument) => typeof argument === 'function') as
    | ((error: Error | null) => void)
    | undefined
  const { as, body } = encodeBody(message)
  session.performSync({
    event: { type: 'call', kind: 'input', name: 'process.send', as, sync: true },
    body,
    durable: true,
    run: () => {
      native?.(message, ...rest.filter((argument) => argument !== done))
      return { event: { type: 'result' } }
    },
  })
  if (done) process.nextTick(done, null)
  return true
}
