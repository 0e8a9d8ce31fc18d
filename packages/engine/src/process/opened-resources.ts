import { createHook } from 'node:async_hooks'

/** Kernel-side resources that would mean contact with the outside. */
const OUTSIDE = new Set([
  'TCPWRAP', 'TCPCONNECTWRAP', 'TCPSERVERWRAP', 'PIPECONNECTWRAP', 'TLSWRAP', 'UDPWRAP',
  'GETADDRINFOREQWRAP', 'GETNAMEINFOREQWRAP', 'QUERYWRAP', 'PROCESSWRAP',
])

/** Counts them from now on, independently of every patch; the result tells how many there were. */
export function countOpenedResources(): () => Record<string, number> {
  const counts: Record<string, number> = {}
  createHook({
    init(_id, type) {
      if (OUTSIDE.has(type)) counts[type] = (counts[type] ?? 0) + 1
    },
  }).enable()
  return () => counts
}
