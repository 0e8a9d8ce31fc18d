import { replace, type Undo } from '@retake/engine/hook'
import { portOf } from '../../bounds/port-of.js'
import { takeRefusal } from '../../bounds/refused-places.js'
import { currentBounds } from '../current-bounds.js'

/**
 * A `WebSocket` or an `EventSource` that cannot connect tells its listeners with an event that
 * does not say why. Where a guarded call was refused the place it leads to, the event
 * has the refusal as its `error`: a tool that fails of it can be told from one that failed by itself.
 */
export function patchErrorEvents(): Undo {
  const { prototype } = EventTarget
  const { dispatchEvent: native } = prototype
  return replace(prototype, 'dispatchEvent', function (this: EventTarget, event: Event): boolean {
    if (event?.type === 'error' && currentBounds().length > 0) tellRefusal(this, event)
    return native.call(this, event)
  })
}

function tellRefusal(target: EventTarget, event: Event): void {
  const { url: text } = target as { url?: unknown }
  if (typeof text !== 'string' || !URL.canParse(text)) return
  const url = new URL(text)
  const refusal = takeRefusal(currentBounds(), { host: url.hostname, port: portOf(url) })
  if (refusal === undefined) return
  const told = { error: refusal, message: refusal.message }
  for (const [name, value] of Object.entries(told))
    Object.defineProperty(event, name, { value, configurable: true })
}
