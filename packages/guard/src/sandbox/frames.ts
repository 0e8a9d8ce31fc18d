import type net from 'node:net'
import v8 from 'node:v8'

const HEAD_BYTES = 4
const FRAME_BYTES_MAX = 1 << 28
const HEAD = Buffer.alloc(HEAD_BYTES)

/** Sends a copy of a value in one write. Throws if it cannot be copied, such as a function. */
export function sendFrame(pipe: net.Socket, value: unknown): void {
  const serializer = new v8.DefaultSerializer()
  serializer.writeRawBytes(HEAD)
  serializer.writeHeader()
  serializer.writeValue(value)
  const frame = serializer.releaseBuffer()
  frame.writeUInt32BE(frame.length - HEAD_BYTES)
  pipe.write(frame)
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
      const bytes = parts.length === 1 ? (parts[0] ?? part) : Buffer.concat(parts, length)
      const frame = HEAD_BYTES + bytes.readUInt32BE(0)
      if (frame > FRAME_BYTES_MAX) return void pipe.destroy()
      needed = length < frame ? frame : HEAD_BYTES
      parts = length === frame ? [] : [length < frame ? bytes : bytes.subarray(frame)]
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
