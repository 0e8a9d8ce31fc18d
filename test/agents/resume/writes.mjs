/**
 * Writes to files in every way that Node has, as fast as it can, so that a kill at a random moment
 * is likely to come during a write. The content depends on nothing.
 */
import fs from 'node:fs'
import { open, appendFile, writeFile } from 'node:fs/promises'
import { once } from 'node:events'

const line = (name, n) => `${name} ${n} ${'x'.repeat((n * 37) % 200)}\n`
const lines = []

const fd = fs.openSync('descriptor.txt', 'w')
const appended = await open('handle.txt', 'a')
const stream = fs.createWriteStream('stream.txt')
console.log('begin')
for (let n = 1; n <= 60; n++) {
  fs.appendFileSync('append-sync.txt', line('sync', n))
  await appendFile('append.txt', line('append', n))
  lines.push(line('rewrite', n))
  fs.writeFileSync('rewrite-sync.txt', lines.join(''))
  await writeFile('rewrite.txt', lines.toReversed().join(''))
  fs.writeSync(fd, line('descriptor', n))
  fs.writeSync(fd, String(n).padStart(4, '0'), 0)
  fs.fsyncSync(fd)
  await appended.appendFile(line('handle', n))
  await appended.write(line('written', n))
  if (!stream.write(line('stream', n))) await once(stream, 'drain')
  if (n % 20 === 0) fs.truncateSync('append-sync.txt', 500)
}
fs.closeSync(fd)
await appended.close()
stream.end()
await once(stream, 'close')
console.log('end')
