// Every way to read stdin; the way is the first argument.
import fs from 'node:fs'
import { stdin } from 'node:process'
import readline from 'node:readline'
import readlinePromises from 'node:readline/promises'
import { PassThrough, Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setTimeout as sleep } from 'node:timers/promises'

let line = 0
const log = (...words) => console.log(line++, ...words)
log('facts', process.stdin.isTTY, process.stdin.fd, stdin === process.stdin)

const ways = {
  async iterate() {
    for await (const chunk of process.stdin) log('chunk', chunk.length, chunk.toString().trim())
    log('end', process.stdin.readableEnded)
  },
  async leave() {
    for await (const chunk of process.stdin) {
      log('first', chunk.toString().split('\n')[0])
      break
    }
    log('left', process.stdin.destroyed)
  },
  async data() {
    process.stdin.setEncoding('utf8')
    process.stdin.on('data', (text) => log('text', text.trim()))
    await new Promise((resolve) => process.stdin.on('end', resolve))
    log('end', Math.random())
  },
  async readable() {
    process.stdin.on('readable', () => {
      for (let chunk = process.stdin.read(3); chunk !== null; chunk = process.stdin.read(3)) {
        log('three', chunk.toString('hex'))
      }
    })
    await new Promise((resolve) => process.stdin.on('end', resolve))
  },
  async lines() {
    const lines = readline.createInterface({ input: process.stdin })
    const timer = setInterval(() => log('tick'), 7)
    for await (const text of lines) {
      await sleep(Math.random() * 5)
      log('line', text)
    }
    clearInterval(timer)
  },
  async questions() {
    const prompt = readlinePromises.createInterface({
      input: process.stdin,
      output: process.stdout,
    })
    log('answer', await prompt.question('What? '))
    log('answer', await prompt.question('And? '))
    prompt.close()
    const again = readline.createInterface({ input: process.stdin })
    log('third', await new Promise((resolve) => again.question('', resolve)))
    again.close()
  },
  async pipe() {
    const shout = new Transform({
      transform: (chunk, _, done) => done(null, chunk.toString().toUpperCase()),
    })
    let length = 0
    await pipeline(process.stdin, shout, new PassThrough(), async (source) => {
      for await (const chunk of source) length += chunk.length
    })
    log('piped', length)
  },
  async pause() {
    let seen = 0
    process.stdin.on('data', (chunk) => {
      seen += chunk.length
      process.stdin.pause()
      setTimeout(() => process.stdin.resume(), 3)
    })
    await new Promise((resolve) => process.stdin.on('end', resolve))
    log('seen', seen)
  },
  async once() {
    process.stdin.once('data', (chunk) => {
      log('once', chunk.toString().split('\n')[0])
      process.stdin.pause()
    })
  },
  async unread() {
    log('not read', process.stdin.readableFlowing)
    process.stdin.on('end', () => log('never'))
  },
  async descriptor() {
    log('all', fs.readFileSync(0, 'utf8').trim())
    log('rest', fs.readFileSync(0).length)
  },
  async device() {
    log('all', fs.readFileSync('/dev/stdin', 'utf8').trim())
  },
  async bytes() {
    const buffer = Buffer.alloc(4)
    for (let count = fs.readSync(0, buffer); count > 0; count = fs.readSync(0, buffer)) {
      log('four', buffer.toString('latin1', 0, count).trim())
    }
  },
}
process.on('exit', (code) => log('exit', code))
await ways[process.argv[2]]()
