import type { ServerResponse } from 'node:http'

/** Ends an answer whose head is written in the middle: what was written still arrives, then the connection closes. */
export function breakOff(response: ServerResponse): void {
  response.flushHeaders()
  if (response.socket) response.socket.destroySoon()
  else response.destroy()
}
