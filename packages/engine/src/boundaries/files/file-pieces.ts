import fs from 'node:fs'
import { encodingOf } from './file-data.js'

/** What `promises.writeFile` takes beside text and bytes: anything that yields them. */
export type Pieces = Iterable<unknown> | AsyncIterable<unknown>

export const isPieces = (data: unknown): data is Pieces =>
  typeof data === 'object' &&
  data !== null &&
  !ArrayBuffer.isView(data) &&
  (Symbol.iterator in data || Symbol.asyncIterator in data)

interface WriteOptions {
  readonly flag?: string
  readonly mode?: number
  readonly signal?: AbortSignal
  readonly encoding?: BufferEncoding
}

/**
 * Writes what an iterable yields, as a file that is opened, written and closed:
 * the iterable is the agent's code and must run inside the run.
 */
export async function writePiecesTo(name: string, args: readonly unknown[]): Promise<void> {
  const [path, pieces, given] = args
  const options = (typeof given === 'object' ? given : undefined) as WriteOptions | undefined
  const flag = options?.flag ?? (name === 'appendFile' ? 'a' : 'w')
  const handle = await fs.promises.open(path as string, flag, options?.mode)
  try {
    await writePieces(
      (bytes, offset) => handle.write(bytes, offset),
      pieces as Pieces,
      given as WriteOptions,
    )
  } finally {
    await handle.close()
  }
}

/** Writes each piece to its end before the next is asked for. */
export async function writePieces(
  write: (bytes: Uint8Array, offset: number) => Promise<{ bytesWritten: number }>,
  pieces: Pieces,
  options: WriteOptions | string | undefined,
): Promise<void> {
  const signal = typeof options === 'object' ? options.signal : undefined
  for await (const piece of pieces) {
    signal?.throwIfAborted()
    const bytes = ArrayBuffer.isView(piece)
      ? Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength)
      : Buffer.from(piece as string, encodingOf(options))
    for (let offset = 0; offset < bytes.length;) {
      offset += (await write(bytes, offset)).bytesWritten
    }
  }
}
