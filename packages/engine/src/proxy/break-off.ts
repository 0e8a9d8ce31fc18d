import type { ServerResponse } from 'node:http'

/** Ends an answer in the middle: what was written still arrives, then the connection closes. */
export function breakOff(response: ServerResponse): void {
  if (response.socket) response.socket.destroySoon()
  else response.destroy()
}
