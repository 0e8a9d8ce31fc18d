// Arguments that Node refuses. Says the same without Retake, and leaves nothing on the tape.
import dns from 'node:dns'
import fs, { promises as fsp } from 'node:fs'

let line = 0
const say = (how, error) => console.log(line++, how, error.name, error.code, error.message)
const done = () => {}

const mistakes = [
  () => fs.readFileSync(undefined),
  () => fs.readFileSync('text\0.txt'),
  () => fs.readFileSync(new URL('http://example.com/x')),
  () => fs.readFileSync('x', 'no-encoding'),
  () => fs.readFileSync('x', { flag: 'nonsense' }),
  () => fs.readFileSync('x', 7),
  () => fs.writeFileSync('x', 12),
  () => fs.writeFileSync('x', {}),
  () => fs.writeFileSync('x', 'data', { mode: 'rwx' }),
  () => fs.mkdirSync('x', { recursive: 'yes' }),
  () => fs.mkdirSync({}),
  () => fs.openSync('x', 'q'),
  () => fs.openSync('x', 'r', -1.5),
  () => fs.closeSync('1'),
  () => fs.closeSync(-1),
  () => fs.readSync(3, 'not a buffer'),
  () => fs.readSync(3, Buffer.alloc(4), 2, 5),
  () => fs.readSync(3, Buffer.alloc(4), -1, 2),
  () => fs.readSync(3, Buffer.alloc(0), 0, 2),
  () => fs.readSync('3', Buffer.alloc(4)),
  () => fs.writeSync(30, 12),
  () => fs.writeSync(30, Buffer.alloc(2), 3),
  () => fs.writeSync('30', 'text'),
  () => fs.writevSync(30, 'text'),
  () => fs.rmSync('x', { recursive: 1 }),
  () => fs.rmSync(5),
  () => fs.renameSync('x'),
  () => fs.copyFileSync('x', 'y', 'mode'),
  () => fs.chmodSync('x', 'mode'),
  () => fs.utimesSync('x', 'soon', 1),
  () => fs.cpSync('x', 'y', { recursive: 'yes' }),
  () => fs.mkdtempSync(null),
  () => fs.opendirSync(),
  () => fs.readFile('x'),
  () => fs.readFile('x', 'utf8'),
  () => fs.readFile(undefined, done),
  () => fs.readFile('x', 'no-encoding', done),
  () => fs.writeFile('x', 'data'),
  () => fs.writeFile('x', 12, done),
  () => fs.stat('x'),
  () => fs.open('x', 'q', done),
  () => fs.read(3, 'not a buffer', 0, 1, 0, done),
  () => fs.read(3, Buffer.alloc(4), 2, 5, 0, done),
  () => fs.write(30, 12, done),
  () => fs.write(30, 'text'),
  () => fs.close('1', done),
  () => fs.mkdir('x', { recursive: 'yes' }, done),
  () => fs.rm('x', { recursive: 1 }, done),
  () => fs.createReadStream(12),
  () => fs.createReadStream('x', { start: 'first' }),
  () => fsp.readFile(undefined),
  () => fsp.readFile('x', 'no-encoding'),
  () => fsp.writeFile('x', 12),
  () => fsp.open('x', 'q'),
  () => fsp.mkdir('x', { recursive: 'yes' }),
  () => fsp.rename('x'),
  () => fsp.opendir({}),
  () => dns.lookup(12, done),
  () => dns.lookup('localhost'),
  () => dns.lookup('localhost', { family: 5 }, done),
  () => dns.lookup('localhost', 'yes', done),
  () => dns.lookupService('localhost', 80, done),
  () => dns.lookupService('127.0.0.1', 99_999, done),
  () => dns.resolve('localhost', 'NONE', done),
  () => dns.resolve4(12, done),
  () => dns.resolve4('localhost'),
  () => dns.promises.lookup('localhost', { family: 5 }),
  () => dns.promises.resolve('localhost', 'NONE'),
  () => new dns.Resolver().resolve4('localhost'),
]
for (const mistake of mistakes) {
  const text = String(mistake).slice(6)
  try {
    const result = mistake()
    await (result instanceof Promise ? result : 0)
    console.log(line++, text, 'was accepted')
  } catch (error) {
    say(text, error)
  }
}
