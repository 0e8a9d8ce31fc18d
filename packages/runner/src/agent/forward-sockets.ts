import { connect, createServer, type NetConnectOpts, type Server } from 'node:net'

export const forwardTo = (target: NetConnectOpts): Server =>
  createServer({ allowHalfOpen: true }, (inside) => {
    const outside = connect({ ...target, allowHalfOpen: true })
    for (const [from, to] of [
      [inside, outside],
      [outside, inside],
    ] as const) {
      from.on('error', () => to.destroy())
      from.on('close', () => to.destroy())
      from.pipe(to)
    }
  })
