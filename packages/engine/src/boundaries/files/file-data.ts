import type { Encoded } from '../result-form.js'

/** The bytes a write puts into the file. */
export function encodeData(data: unknown, encoding: BufferEncoding = 'utf8'): Encoded {
  if (typeof data === 'string') {
    return { as: /^utf-?8$/i.test(encoding) ? 'text' : 'bytes', body: Buffer.from(data, encoding) }
  }
  if (!ArrayBuffer.isView(data)) return {}
  return { as: 'bytes', body: Buffer.from(data.buffer, data.byteOffset, data.byteLength) }
}

/** The encoding among the options of a call. */
export function encodingOf(options: unknown): BufferEncoding {
  const { encoding } = (typeof options === 'string' ? { encoding: options } : (options ?? {})) as {
    encoding?: BufferEncoding | null
  }
  return encoding ?? 'utf8'
}
