// Many chains of file work at once, with imports and timers between: only the order varies.
import dns from 'node:dns'
import fs, { promises as fsp } from 'node:fs'
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'

let line = 0
const log = (...words) => console.log(line++, ...words)
const chains = 8
const rounds = 4

fs.mkdirSync('data')
for (let index = 0; index < chains; index++) {
  fs.writeFileSync(`data/${index}.txt`, String(index).repeat(1 + index * 5000))
}

const work = {
  read: async (index) => (await fsp.readFile(`data/${index}.txt`)).length,
  write: async (index, round) => fsp.writeFile(`data/w-${index}-${round}.txt`, `${index} ${round}`),
  stat: async (index) => (await promisify(fs.stat)(`data/${index}.txt`)).size,
  handle: async (index) => {
    const handle = await fsp.open(`data/${index}.txt`)
    const { bytesRead } = await handle.read(Buffer.alloc(100), 0, 100, 0)
    await handle.close()
    return bytesRead
  },
  stream: async (index) => {
    let length = 0
    for await (const chunk of fs.createReadStream(`data/${index}.txt`)) length += chunk.length
    return length
  },
  folder: async () => {
    let count = 0
    for await (const _ of await fsp.opendir('data')) count += 1
    return count > 0
  },
  print: async (index) => promisify(fs.write)(1, `chain ${index}\n`).then(() => 'printed'),
  missing: async (index) => fsp.access(`data/none-${index}`).catch((error) => error.code),
  lookup: async () => (await dns.promises.lookup('localhost', 4)).address,
  copy: async (index, round) => fsp.cp(`data/${index}.txt`, `data/c-${index}-${round}.txt`),
}
const names = Object.keys(work)

/** One module after the other, while everything else goes on. */
async function modules() {
  for (let round = 0; round < 6; round++) {
    const { value } = await import(`${new URL('parts/small-module.mjs', import.meta.url)}?${round}`)
    log('import', round, value)
    await turn()
  }
}

async function chain(index) {
  for (let round = 0; round < rounds; round++) {
    for (let step = 0; step < names.length; step++) {
      const name = names[(index + step) % names.length]
      log(index, round, name, await work[name](index, round))
      if (Math.random() < 0.2) await sleep(Math.random() * 3)
    }
  }
}

await Promise.all([...Array.from({ length: chains }, (_, index) => chain(index)), modules()])
log('end', fs.readdirSync('data').length, Date.now())
