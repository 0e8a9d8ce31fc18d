import type net from 'node:net'
import v8 from 'node:v8'

const HEAD_BYTES = 4
const FRAME_BYTES_MAX = 1 << 28

/** Sends a copy of a value. Throws if it cannot be copied, such as a function. */
export function sendFrame(pipe: net.Socket, value: unknown): void {
  const body = v8.serialize(value)
  const head = Buffer.alloc(HEAD_BYTES)
  head.writeUInt32BE(body.length)
  pipe.write(Buffer.concat([head, body]))
}

/**
 * Receives values. Node's own IPC is not used, because an invalid message ends the receiver. Calls
 * `end` when the pipe is closed or an invalid frame arrives.
 */
export function receiveFrames(
  pipe: net.Socket,
  receive: (value: unknown) => void,
  end: () => void,
): void {
  let parts: Buffer[] = []
  let length = 0
  let needed = HEAD_BYTES
  pipe.on('error', end)
  pipe.on('close', end)
  pipe.on('data', (part: Buffer) => {
    parts.push(part)
    length += part.length
    while (length >= needed) {
      const bytes = Buffer.concat(parts, length)
      const frame = HEAD_BYTES + bytes.readUInt32BE(0)
      if (frame > FRAME_BYTES_MAX) return void pipe.destroy()
      parts = [length < frame ? bytes : bytes.subarray(frame)]
      needed = length < frame ? frame : HEAD_BYTES
      if (length < frame) return
      length -= frame
      let value: unknown
      try {
        value = v8.deserialize(bytes.subarray(HEAD_BYTES, frame))
      } catch {
        return void pipe.destroy()
      }
      receive(value)
    }
  })
}
