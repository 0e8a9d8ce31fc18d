import net from 'node:net'
import { replace, type Undo } from '@retake/engine/hook'
import { currentBounds } from '../current-bounds.js'
import { endWithCall } from './watched-sockets.js'

type Listen = (this: net.Server, ...args: unknown[]) => net.Server

/** Under a network scope a guarded call may not listen; without one its server ends with it. */
export function patchListening(): Undo {
  const native = net.Server.prototype.listen as Listen
  return replace(net.Server.prototype, 'listen', function (this: net.Server, ...args: unknown[]) {
    const bounds = currentBounds()
    if (bounds.length === 0) return native.apply(this, args)
    try {
      for (const each of bounds) each.network((scope) => scope.checkListen())
    } catch (error) {
      process.nextTick(() => this.emit('error', error))
      return this
    }
    endWithCall(bounds, {
      once: (event, listener) => this.once(event, listener),
      destroy: () => this.close(),
    })
    return native.apply(this, args)
  })
}
