import { crc32 } from '../format/crc32.js'
import { joinBytes } from '../format/join-bytes.js'

/** The type of a header that is text. */
const TEXT = 7

/** One message of an AWS event stream: text headers, a payload, and both checksums. */
export const eventFrameBytes = (
  headers: Readonly<Record<string, string>>,
  payload: string,
): Uint8Array => {
  const encoder = new TextEncoder()
  const named = joinBytes(
    Object.entries(headers).flatMap(([name, value]) => {
      const [key, text] = [encoder.encode(name), encoder.encode(value)]
      return [
        Uint8Array.of(key.length),
        key,
        Uint8Array.of(TEXT, text.length >> 8, text.length & 255),
        text,
      ]
    }),
  )
  const body = encoder.encode(payload)
  const lengths = joinBytes([uint32(16 + named.length + body.length), uint32(named.length)])
  const message = joinBytes([lengths, uint32(crc32(lengths)), named, body])
  return joinBytes([message, uint32(crc32(message))])
}

const uint32 = (value: number): Uint8Array => {
  const bytes = new Uint8Array(4)
  new DataView(bytes.buffer).setUint32(0, value)
  return bytes
}
