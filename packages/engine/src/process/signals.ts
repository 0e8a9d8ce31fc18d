import { constants } from 'node:os'
import { outsideRuns } from '../scope.js'
import type { Operation, Session } from '../sessions/session.js'

type Emit = (event: string | symbol, ...args: unknown[]) => boolean

/**
 * Signals that the agent listens for reach it through the gate, at the recorded position. During a
 * replay, a real signal means that the user wants to stop.
 */
export function captureSignals(session: Session): void {
  const operations = new Map<string, Operation>()
  const emit = process.emit.bind(process) as Emit
  process.on('newListener', (event: string | symbol) => {
    if (typeof event !== 'string' || !(event in constants.signals)) return
    if (operations.has(event) || session.closed) return
    const operation = session.perform({
      event: { type: 'call', kind: 'input', name: `signal ${event}` },
      start: () => {},
      deliver: () => void emit(event, event, constants.signals[event as NodeJS.Signals]),
    })
    operations.set(event, operation)
  })
  process.emit = function (event: string | symbol, ...args: unknown[]): boolean {
    const operation = typeof event === 'string' ? operations.get(event) : undefined
    if (operation === undefined || session.closed) return emit(event, ...args)
    if (session.local === 'tape') process.exit(128 + Number(args[1] ?? 2))
    outsideRuns(() => operation.complete({ type: 'deliver', part: 'signal' }))
    return true
  } as typeof process.emit
}
