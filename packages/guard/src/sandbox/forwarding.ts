import { isIP } from 'node:net'

/** An address outside of a sandbox that code inside may reach. */
export interface ReachableAddress {
  readonly host: string
  readonly port: number
}

/** An address inside a sandbox that leads to a socket of the outside. */
export interface Forwarding extends ReachableAddress {
  /** On the loopback of the sandbox. */
  readonly address: string
  readonly socket: string
}

/** Names get addresses on the loopback of the sandbox. Addresses that are not there cannot be forwarded. */
export const forwardingOf = (
  reachable: readonly ReachableAddress[],
  socketOf: (address: ReachableAddress, index: number) => string,
): Forwarding[] =>
  reachable.map(({ host, port }, index) => ({
    host,
    port,
    address: host === 'localhost' ? '127.0.0.1' : isIP(host) ? host : `127.0.1.${index + 1}`,
    socket: socketOf({ host, port }, index),
  }))

export const hostsText = (forwarding: readonly Forwarding[]): string => {
  const lines = forwarding
    .filter(({ host }) => isIP(host) === 0 && host !== 'localhost')
    .map(({ address, host }) => `${address} ${host}`)
  return ['127.0.0.1 localhost', '::1 localhost', ...lines, ''].join('\n')
}
