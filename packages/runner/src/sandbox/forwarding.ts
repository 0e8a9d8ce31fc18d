import { isIP } from 'node:net'

/** An address outside of the sandbox that code inside may reach. */
export interface ReachableAddress {
  readonly host: string
  readonly port: number
}

/** An address in the sandbox that forwards to a Unix socket outside. */
export interface Forwarding extends ReachableAddress {
  /** Address on the loopback of the sandbox. */
  readonly address: string
  readonly socket: string
}

/** Assigns loopback addresses to names. An address that is not loopback cannot be forwarded. */
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
