// Work whose result never varies but whose order does: eight chains of it at once.
import { scrypt } from 'node:crypto'
import dns from 'node:dns'
import fs, { promises as fsp } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import zlib from 'node:zlib'

const chains = 8
const rounds = 3
const module = new URL('parts/small-module.mjs', import.meta.url)
const text = await fsp.readFile(module)
let line = 0

async function gzipStream(data) {
  const gzip = zlib.createGzip()
  gzip.end(data)
  let length = 0
  for await (const chunk of gzip) length += chunk.length
  return length
}

async function compressionStream(data) {
  const stream = new Blob([data]).stream().pipeThrough(new CompressionStream('deflate'))
  return (await new Response(stream).arrayBuffer()).byteLength
}

async function readStream() {
  let length = 0
  for await (const chunk of fs.createReadStream(module)) length += chunk.length
  return length
}

// The smallest module there is: a magic number and a version.
const wasm = new Uint8Array([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0])

const work = {
  'fs.promises': async () => (await fsp.readFile(module)).length,
  'fs callback': async () => (await promisify(fs.stat)(module)).size,
  'fs stream': readStream,
  dns: async () => (await dns.promises.lookup('localhost', { family: 4 })).address,
  'dns callback': async () => (await promisify(dns.lookup)('localhost', { family: 4 })).address,
  gzip: async () => (await promisify(zlib.gzip)(Buffer.alloc(20_000, text))).length,
  'gzip stream': () => gzipStream(Buffer.alloc(20_000, text)),
  CompressionStream: () => compressionStream(Buffer.alloc(20_000, text)),
  scrypt: async () => (await promisify(scrypt)('word', 'salt', 16, { N: 256 })).toString('hex'),
  subtle: async () =>
    Buffer.from(await crypto.subtle.digest('SHA-256', text))
      .toString('hex')
      .slice(0, 8),
  wasm: async () => (await WebAssembly.compile(wasm)) instanceof WebAssembly.Module,
}

for (const [name, run] of Object.entries(work)) {
  await Promise.all(
    Array.from({ length: chains }, async (_, chain) => {
      for (let round = 0; round < rounds; round++) {
        console.log(line++, name, chain, round, await run())
      }
    }),
  )
}

// Each chain does everything, beginning somewhere else.
const names = Object.keys(work)
await Promise.all(
  Array.from({ length: chains }, async (_, chain) => {
    for (let step = 0; step < names.length; step++) {
      const name = names[(chain + step) % names.length]
      await work[name]()
      console.log(line++, 'mixed', chain, name)
    }
  }),
)

// Node 20 loads modules in other threads: there only one at a time is exact (docs/contract.md).
const importChains = Number(process.versions.node.split('.')[0]) < 22 ? 1 : chains
await Promise.all(
  Array.from({ length: importChains }, async (_, chain) => {
    for (let round = 0; round < rounds; round++) {
      const { value } = await import(`${fileURLToPath(module)}?chain=${chain}&round=${round}`)
      console.log(line++, 'import', chain, round, value)
    }
  }),
)
console.log(line++, Date.now(), Math.random())
