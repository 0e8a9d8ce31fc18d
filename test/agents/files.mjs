// An agent that works with files: every way to read and write a small folder.
import fs, { promises as fsp } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import readline from 'node:readline'
import { pipeline } from 'node:stream/promises'
import { promisify } from 'node:util'

let line = 0
const log = (...words) => console.log(line++, Date.now(), ...words)

// Something that was there before the run, and may not be there any more.
try {
  log('notes', fs.readFileSync('notes.txt', 'utf8'))
} catch (error) {
  log('no notes', error.code, error.syscall)
}
log('here', fs.existsSync('notes.txt'), (await fsp.readdir('.')).join(' '))

const folder = await fsp.mkdtemp(path.join(os.tmpdir(), 'agent-'))
const at = (name) => path.join(folder, name)
log('folder', folder)

await fsp.writeFile(at('plan.md'), `# Plan ${crypto.randomUUID()}\n`)
await fsp.appendFile(at('plan.md'), 'über ☃\n')
fs.appendFileSync(at('plan.md'), `${Math.random()}\n`)
log('plan', await fsp.readFile(at('plan.md'), 'utf8'))
log('bytes', fs.readFileSync(at('plan.md')).length, fs.statSync(at('plan.md')).size)

const stat = await fsp.stat(at('plan.md'))
log(
  'stat',
  stat.mtimeMs,
  stat.ino,
  stat.isFile(),
  (await fsp.stat(at('plan.md'), { bigint: true })).mtimeNs,
)

fs.mkdirSync(at('a/b/c'), { recursive: true })
await Promise.all(
  ['one', 'two', 'three'].map((name) =>
    fsp.writeFile(at(`a/${name}.json`), JSON.stringify({ name, r: Math.random() })),
  ),
)
log('list', (await fsp.readdir(at('a'))).toSorted().join(' '))
for (const entry of fs.readdirSync(at('a'), { withFileTypes: true })) {
  log('entry', entry.name, entry.isDirectory())
}
for await (const entry of await fsp.opendir(at('a'))) log('opendir', entry.name)
const readCallback = promisify(fs.readFile)
await Promise.all(
  ['one', 'two', 'three'].map(async (name) =>
    log('read', await readCallback(at(`a/${name}.json`), 'utf8')),
  ),
)

const out = fs.createWriteStream(at('log.txt'))
for (let index = 0; index < 50; index++) out.write(`line ${index} ${Math.random()}\n`)
out.end()
await new Promise((resolve) => out.on('close', resolve))
let total = 0
for await (const chunk of fs.createReadStream(at('log.txt'), { highWaterMark: 500 })) {
  total += chunk.length
  log('chunk', chunk.length)
}
log('total', total)
await pipeline(fs.createReadStream(at('log.txt')), fs.createWriteStream(at('copy.txt')))
let count = 0
for await (const _ of readline.createInterface({ input: fs.createReadStream(at('copy.txt')) }))
  count++
log('lines', count)

const handle = await fsp.open(at('handle.bin'), 'w+')
await handle.write(Buffer.from('0123456789'))
await handle.write(Buffer.from('ab'), 0, 2, 4)
const { bytesRead, buffer } = await handle.read(Buffer.alloc(6), 0, 6, 2)
log('handle', bytesRead, buffer.toString(), (await handle.stat()).size)
await handle.truncate(5)
await handle.close()
log('handle', await fsp.readFile(at('handle.bin'), 'utf8'))

const descriptor = fs.openSync(at('sync.bin'), 'w+')
fs.writeSync(descriptor, 'sync write')
const part = Buffer.alloc(4)
fs.readSync(descriptor, part, 0, 4, 5)
fs.closeSync(descriptor)
log('sync', part.toString())

await fsp.rename(at('copy.txt'), at('moved.txt'))
await fsp.copyFile(at('moved.txt'), at('a/copied.txt'))
await fsp.symlink(at('moved.txt'), at('link'))
log('link', (await fsp.realpath(at('link'))) === (await fsp.realpath(at('moved.txt'))))
await fsp.unlink(at('link'))
log(
  'access',
  await fsp.access(at('link')).then(
    () => 'there',
    (error) => error.code,
  ),
)
await fsp.utimes(at('moved.txt'), 1, 2)
log('utimes', (await fsp.stat(at('moved.txt'))).mtimeMs)

for (const attempt of [
  () => fsp.readFile(at('missing.txt')),
  () => fsp.rmdir(at('a')),
  async () => fs.mkdirSync(at('a')),
  () => fsp.readFile(folder),
]) {
  await attempt().catch((error) =>
    log(error.constructor.name, error.code, error.message.replace(folder, '')),
  )
}

await fsp.rm(at('a'), { recursive: true })
log('left', fs.readdirSync(folder).toSorted().join(' '))
fs.rmSync(folder, { recursive: true })
log('gone', fs.existsSync(folder))
