import { crc32 } from 'node:zlib'
import { Buffer } from 'node:buffer'

/** One message of an AWS event stream, written from its specification, with checksums of Node's own. */
export const eventFrame = (
  headers: Readonly<Record<string, string>>,
  payload: Uint8Array | string,
): Uint8Array => {
  const named = Object.entries(headers).map(([name, value]) => textHeader(name, value))
  return rawFrame(Buffer.concat(named), Buffer.from(payload))
}

/** The frame around headers that are encoded already. */
export const rawFrame = (headers: Uint8Array, payload: Uint8Array): Uint8Array => {
  const length = 16 + headers.length + payload.length
  const prelude = Buffer.concat([uint32(length), uint32(headers.length)])
  const start = Buffer.concat([prelude, uint32(crc32(prelude)), headers, payload])
  return new Uint8Array(Buffer.concat([start, uint32(crc32(start))]))
}

const textHeader = (name: string, value: string): Buffer => {
  const length = Buffer.alloc(2)
  length.writeUInt16BE(Buffer.byteLength(value))
  return Buffer.concat([
    Buffer.from([Buffer.byteLength(name)]),
    Buffer.from(name),
    Buffer.from([7]),
    length,
    Buffer.from(value),
  ])
}

const uint32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

/** An event of Bedrock as its server sends it: a `chunk` holds the model's JSON in base64. */
export const bedrockEvent = (event: string, value: unknown): Uint8Array => {
  const isException = /exception$/i.test(event)
  const json = JSON.stringify(value)
  return eventFrame(
    {
      [isException ? ':exception-type' : ':event-type']: event,
      ':content-type': 'application/json',
      ':message-type': isException ? 'exception' : 'event',
    },
    event === 'chunk'
      ? JSON.stringify({ bytes: Buffer.from(json).toString('base64'), p: 'abcdefghijk' })
      : json,
  )
}
