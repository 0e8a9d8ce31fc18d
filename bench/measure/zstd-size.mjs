/**
 * Reads stdin to its end and prints how many bytes `zstd -19 --long=27` would
 * make of it. Needs a Node with zstd (22.15 or newer).
 */
import { pipeline } from 'node:stream/promises'
import { constants, createZstdCompress } from 'node:zlib'

const compress = createZstdCompress({
  params: {
    [constants.ZSTD_c_compressionLevel]: 19,
    [constants.ZSTD_c_enableLongDistanceMatching]: 1,
    [constants.ZSTD_c_windowLog]: 27,
  },
})
let bytes = 0
await pipeline(process.stdin, compress, async (chunks) => {
  for await (const chunk of chunks) bytes += chunk.length
})
console.log(bytes)
