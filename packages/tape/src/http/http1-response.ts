import type { HeaderPair } from '../format/events.js'
import { joinBytes } from '../format/join-bytes.js'

const encode = (text: string): Uint8Array => new TextEncoder().encode(text)

/** Header values are bytes; what was read as Latin-1 is written as that. */
const encodeLatin1 = (text: string): Uint8Array =>
  Uint8Array.from(text, (char) => char.charCodeAt(0) & 0xff)

/**
 * An HTTP/1.1 response as bytes, cut into the pieces it is delivered in. Its
 * headers say how it is framed: `transfer-encoding` makes every piece a chunk.
 */
export const http1Response = (
  head: {
    readonly status: number
    readonly statusText: string
    readonly headers: readonly HeaderPair[]
  },
  pieces: readonly Uint8Array[],
): Uint8Array[] => {
  const lines = head.headers.map(([name, value]) => `${name}: ${value}\r\n`)
  const start = encodeLatin1(`HTTP/1.1 ${head.status} ${head.statusText}\r\n${lines.join('')}\r\n`)
  const isChunked = head.headers.some(([name]) => name.toLowerCase() === 'transfer-encoding')
  const [first, ...rest] = isChunked
    ? [...pieces.filter(({ length }) => length > 0).map(chunkOf), encode('0\r\n\r\n')]
    : pieces
  return [joinBytes([start, first ?? new Uint8Array(0)]), ...rest]
}

const chunkOf = (piece: Uint8Array): Uint8Array =>
  joinBytes([encode(`${piece.length.toString(16)}\r\n`), piece, encode('\r\n')])
