// An agent that reads its keys from .env files, in every way, and uses them.
import fs, { promises as fsp } from 'node:fs'
import { createInterface } from 'node:readline'

let line = 0
const log = (...words) => console.log(line++, ...words)
const keyOf = (text) => /API_KEY=(\S+)/.exec(text)?.[1]

const way = process.argv[2]
const ways = {
  readFileSync: () => fs.readFileSync('.env', 'utf8'),
  readFile: () => fsp.readFile('.env', 'utf8'),
  buffer: async () => String(await fsp.readFile(new URL(`file://${process.cwd()}/.env`))),
  stream: async () => (await fs.createReadStream('.env', 'utf8').toArray()).join(''),
  lines: async () =>
    (await Array.fromAsync?.(createInterface({ input: fs.createReadStream('.env') })))?.join(
      '\n',
    ) ?? fs.readFileSync('.env', 'utf8'),
  handle: async () => {
    const handle = await fsp.open('.env')
    const { buffer, bytesRead } = await handle.read()
    await handle.close()
    return buffer.toString('utf8', 0, bytesRead)
  },
  descriptor: () => {
    const fd = fs.openSync('.env')
    const text = fs.readFileSync(fd, 'utf8')
    fs.closeSync(fd)
    return text
  },
  copy: () => {
    fs.copyFileSync('.env', 'copy.txt')
    return fs.readFileSync('copy.txt', 'utf8')
  },
  local: () => fs.readFileSync('.env.local', 'utf8'),
  loadEnvFile: () => {
    process.loadEnvFile()
    return `API_KEY=${process.env.API_KEY}\nNAME=${process.env.NAME}`
  },
}
const text = await ways[way]()
log('name', /NAME=(\S+)/.exec(text)?.[1])
const key = keyOf(text)
log('length', key.length > 8, key.startsWith('sk-'))
fs.writeFileSync('request.json', JSON.stringify({ authorization: `Bearer ${key}` }))
log('sent', fs.readFileSync('request.json', 'utf8').length > 30)
await fsp.writeFile(
  '.env.saved',
  `export OTHER_TOKEN="made-${way}-${Math.random()}"\nAPI_KEY='${key}'\n`,
)
log('saved', keyOf(await fsp.readFile('.env.saved', 'utf8')) !== undefined)
