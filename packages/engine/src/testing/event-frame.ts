import { crc32 } from '@retake/tape'

/** Two lengths and their checksum; the checksum of the message stands at its end. */
const PRELUDE = 12
const CHECKSUM = 4
/** The type of a header that is text. */
const TEXT = 7

/** One message of an AWS event stream: text headers, a JSON payload, both checksums. */
export function eventFrame(headers: Readonly<Record<string, string>>, payload: unknown): Buffer {
  const head = Buffer.concat(Object.entries(headers).map(([name, value]) => header(name, value)))
  const body = Buffer.from(JSON.stringify(payload))
  const frame = Buffer.alloc(PRELUDE + head.length + body.length + CHECKSUM)
  frame.writeUInt32BE(frame.length, 0)
  frame.writeUInt32BE(head.length, 4)
  frame.writeUInt32BE(crc32(frame.subarray(0, 8)), 8)
  frame.set(head, PRELUDE)
  frame.set(body, PRELUDE + head.length)
  frame.writeUInt32BE(crc32(frame.subarray(0, -CHECKSUM)), frame.length - CHECKSUM)
  return frame
}

/** An event of Bedrock, such as `contentBlockDelta`. */
export const bedrockEvent = (type: string, payload: unknown): Buffer =>
  eventFrame(
    { ':event-type': type, ':content-type': 'application/json', ':message-type': 'event' },
    payload,
  )

function header(name: string, value: string): Buffer {
  const [key, text] = [Buffer.from(name), Buffer.from(value)]
  const bytes = Buffer.alloc(4 + key.length + text.length)
  bytes.writeUInt8(key.length, 0)
  bytes.set(key, 1)
  bytes.writeUInt8(TEXT, 1 + key.length)
  bytes.writeUInt16BE(text.length, 2 + key.length)
  bytes.set(text, 4 + key.length)
  return bytes
}
