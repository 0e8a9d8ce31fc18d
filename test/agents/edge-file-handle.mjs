// File handles and file streams. Says the same without Retake.
import fs, { promises as fsp } from 'node:fs'
import { PassThrough, Readable } from 'node:stream'
import { finished, pipeline } from 'node:stream/promises'

let line = 0
const log = (...words) => console.log(line++, ...words.map(String))
const explain = (error) => [error.name, error.code, error.syscall, error.message].join(' | ')

const handle = await fsp.open('handle.txt', 'w+')
log('handle', typeof handle.fd, handle.constructor.name, fs.existsSync('handle.txt'))
const written = await handle.write('hello world')
log('write', written.bytesWritten, written.buffer)
log('write', (await handle.write(Buffer.from('HELLO'), 0, 2, 0)).bytesWritten)
log('write', (await handle.write(Buffer.from('xyz'), { offset: 1, position: 3 })).bytesWritten)
log('writev', (await handle.writev([Buffer.from('!'), Buffer.from('?')])).bytesWritten)
const target = Buffer.alloc(5)
const got = await handle.read(target, 0, 5, 0)
log('read', got.bytesRead, got.buffer === target, target)
log('read', (await handle.read({ buffer: Buffer.alloc(4), position: 4 })).buffer)
log(
  'read',
  (await handle.read({ position: 0 })).bytesRead,
  (await handle.read(target, { length: 2, position: 1 })).bytesRead,
)
log('read', (await handle.read(target, 0, 0)).bytesRead)
log('readv', (await handle.readv([Buffer.alloc(2), Buffer.alloc(3)], 0)).buffers.join())
log('stat', (await handle.stat()).size, (await handle.stat({ bigint: true })).size)
await handle.truncate(6)
await handle.chmod(0o600)
await handle.utimes(1, 2)
await handle.sync()
await handle.datasync()
log('read file', await handle.readFile('utf8'), (await fsp.stat('handle.txt')).mtimeMs)
await handle.appendFile(' appended')
await handle.writeFile(' rewritten')
log('content', await fsp.readFile('handle.txt', 'utf8'))
let closed = 0
handle.on('close', () => closed++)
await Promise.all([handle.close(), handle.close()])
await handle.close()
log('closed', closed, handle.fd)
log('after', await handle.readFile().catch(explain))
log('after', await handle.read(target, 0, 1).catch(explain))
log('missing', await fsp.open('none/none').catch(explain))

const second = await fsp.open('handle.txt')
log('as a path', await fsp.readFile(second, 'utf8'))
await second.close()
const third = await fsp.open('third.txt', 'w')
await fsp.writeFile(third, 'by handle')
await fsp.appendFile(third, ', twice')
await third[Symbol.asyncDispose]()
log('by handle', fs.readFileSync('third.txt', 'utf8'))

// A call under way holds the handle open.
const busy = await fsp.open('third.txt')
const content = busy.readFile('utf8')
await busy.close()
log('busy', await content)

// Streams over handles.
const out = (await fsp.open('lines.txt', 'w')).createWriteStream({ encoding: 'utf8' })
for (let index = 0; index < 5; index++) out.write(`line ${index}\n`)
out.end('last')
await finished(out)
log('bytes written', out.bytesWritten)
const input = await fsp.open('lines.txt')
for await (const text of input.readLines()) log('line', text)
log('closed by its stream', input.fd)
const partly = await fsp.open('lines.txt')
const chunks = []
for await (const chunk of partly.createReadStream({
  start: 5,
  end: 20,
  highWaterMark: 6,
  autoClose: false,
}))
  chunks.push(chunk)
log('chunks', chunks.join('|'), partly.fd >= 0)
let bytes = 0
for await (const chunk of partly.readableWebStream({ type: 'bytes' }))
  bytes += chunk.byteLength ?? chunk.length
log('web', bytes)
await partly.close()
const given = await fsp.open('lines.txt')
const stream = fs.createReadStream('ignored', { fd: given, encoding: 'utf8' })
log('given', (await stream.toArray()).join('').length)

// Streams over paths and descriptors.
const flags = fs.createWriteStream('lines.txt', { flags: 'a', flush: true })
flags.on('open', (fd) => log('open', typeof fd))
flags.on('ready', () => log('ready'))
flags.on('close', () => log('close'))
flags.write('\nappended')
await new Promise((resolve) => flags.end(' at the end', resolve))
await finished(flags).catch(explain)
log('appended', fs.readFileSync('lines.txt', 'utf8').slice(-20))
const fd = fs.openSync('lines.txt', 'r')
log(
  'fd',
  (await fs.createReadStream('', { fd, start: 0, end: 3, encoding: 'utf8' }).toArray()).join(),
)
const broken = fs.createReadStream('none.txt')
log('broken', await finished(broken).catch(explain))
const early = fs.createReadStream('lines.txt', { highWaterMark: 4 })
for await (const chunk of early) {
  log('early', chunk)
  break
}
log('destroyed', early.destroyed, early.bytesRead)
await pipeline(Readable.from(['a', 'b']), new PassThrough(), fs.createWriteStream('piped.txt'))
log('piped', fs.readFileSync('piped.txt', 'utf8'))
new fs.ReadStream('piped.txt').on('data', (chunk) => log('class', chunk))
await new Promise((resolve) => setTimeout(resolve, 30))

// What writes can be fed with.
await fsp.writeFile('fed.txt', ['one ', 'two '])
await fsp.appendFile('fed.txt', Readable.from(['three ', Buffer.from('four ')]))
await fsp.writeFile(
  'fed.txt',
  (async function* () {
    yield 'five '
    await new Promise((resolve) => setTimeout(resolve, 2))
    yield new Uint8Array([0x36])
  })(),
  { flag: 'a' },
)
log('fed', fs.readFileSync('fed.txt', 'utf8'))

// Aborted.
const controller = new AbortController()
controller.abort()
const { signal } = controller
log(
  'aborted',
  await fsp.readFile('fed.txt', { signal }).catch((error) => `${error.name} ${error.code}`),
)
log(
  'aborted',
  await fsp.writeFile('fed.txt', 'x', { signal }).catch((error) => `${error.name} ${error.code}`),
)
log(
  'aborted',
  await new Promise((resolve) =>
    fs.readFile('fed.txt', { signal }, (error) => resolve(error.name)),
  ),
)
log('kept', fs.readFileSync('fed.txt', 'utf8'))
