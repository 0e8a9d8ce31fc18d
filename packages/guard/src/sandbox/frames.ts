import type net from 'node:net'
import v8 from 'node:v8'

const HEAD_BYTES = 4
const FRAME_BYTES_MAX = 1 << 28

/** Sends a copy of a value. Throws for one that cannot be copied, such as a function. */
export function sendFrame(pipe: net.Socket, value: unknown): void {
  const body = v8.serialize(value)
  const head = Buffer.alloc(HEAD_BYTES)
  head.writeUInt32BE(body.length)
  pipe.write(Buffer.concat([head, body]))
}

/**
 * Receives the values that the other side sends. Node's own channel between processes is not used,
 * because a message that is wrong ends the process that receives it.
 *
 * `end`: the pipe was closed, or what came through it is not a frame.
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
