// What files look like when an agent prints them whole: Node's own objects while
// recording, rebuilt ones on replay.
import fs, { promises as fsp } from 'node:fs'
import { inspect } from 'node:util'

let line = 0
const log = (...words) => console.log(line++, ...words)
fs.mkdirSync('folder')
fs.writeFileSync('folder/file.txt', 'text')

log(fs.statSync('folder/file.txt'))
log(await fsp.lstat('folder', { bigint: true }))
log(fs.statfsSync('.'), Object.prototype.toString.call(fs.statfsSync('.')))
const stat = fs.statSync('folder/file.txt')
log(stat.mtime, stat.birthtime.toISOString(), JSON.stringify(stat), structuredClone({ ...stat }))
log(stat, Object.keys(stat), Reflect.ownKeys(Object.getPrototypeOf(stat)).map(String))
log(stat.mtimeInstant?.toString(), stat.birthtimeInstant?.toString())
log(fs.readdirSync('.', { withFileTypes: true }), await fsp.readdir('folder', 'buffer'))
log(fs.readFileSync('folder/file.txt'), [fs.readFileSync('folder/file.txt').buffer.byteLength > 0])
for (const attempt of [
  () => fs.readFileSync('none'),
  () => fs.rmSync('folder'),
  () => fs.renameSync('none', 'other'),
  () => fsp.readFile('folder'),
  () => fsp.cp('folder', 'folder/below', { recursive: true }),
]) {
  try {
    await attempt()
  } catch (error) {
    log(inspect(error), JSON.stringify(error), Object.keys(error), error instanceof Error)
  }
}
