import { browserPlatform } from '@retake/tape/browser'

/** The bytes of a block of a report: base64 of raw deflate. */
export async function unpack(block: string): Promise<Uint8Array> {
  const packed = fromBase64(block)
  if (typeof DecompressionStream !== 'function') return browserPlatform.inflateRaw(packed)
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('deflate-raw'))
  return new Uint8Array(await new Response(stream).arrayBuffer())
}

export const unpackJson = async (block: string): Promise<unknown> =>
  JSON.parse(new TextDecoder().decode(await unpack(block))) as unknown

/** Newer browsers have it built in, ten times as fast. */
const native = (Uint8Array as { fromBase64?: (text: string) => Uint8Array<ArrayBuffer> }).fromBase64

function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  if (native !== undefined) return native.call(Uint8Array, text)
  const binary = atob(text)
  const bytes = new Uint8Array(binary.length)
  for (let at = 0; at < binary.length; at++) bytes[at] = binary.charCodeAt(at)
  return bytes
}
