// Watches files in every way; what it sees, and when, differs from run to run.
import fs, { promises as fsp } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

let line = 0
const log = (...words) => console.log(line++, ...words)
const until = async (done) => {
  for (let tries = 0; tries < 200 && !done(); tries++) await sleep(10)
}

try {
  fs.watch('none')
} catch (error) {
  log('refused', error.code, error.syscall)
}
fs.mkdirSync('watched')
let changes = 0
const watcher = fs.watch('watched', (type, name) => {
  changes += 1
  log(type, name, fs.readdirSync('watched').length)
})
watcher.on('close', () => log('closed'))
for (let index = 0; index < 5; index++) {
  await fsp.writeFile(`watched/${index}.txt`, 'x'.repeat(index))
  await sleep(Math.random() * 4)
}
await until(() => changes > 4)
watcher.close()
await fsp.writeFile('watched/unseen.txt', '')

fs.writeFileSync('watched.txt', 'first')
let polled = 0
fs.watchFile('watched.txt', { interval: 10 }, (now, before) => {
  polled += 1
  log('change of watched.txt', now.size, before.size, now.mtime > before.mtime, now.isFile())
})
await sleep(30)
fs.writeFileSync('watched.txt', 'second time')
await until(() => polled > 0)
fs.unwatchFile('watched.txt')

const controller = new AbortController()
setTimeout(() => fs.writeFileSync('watched/late.txt', 'late'), 20)
try {
  for await (const { eventType, filename } of fsp.watch('watched', { signal: controller.signal })) {
    log('later', eventType, filename)
    controller.abort()
  }
} catch (error) {
  log(error.name, error.code)
}
const signal = AbortSignal.timeout(20)
await new Promise((resolve) => fs.watch('watched', { signal }).on('close', resolve))
log('over', signal.aborted)
