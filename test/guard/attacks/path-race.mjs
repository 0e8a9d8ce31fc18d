/**
 * Reads and writes, through a guard, paths that another process exchanges all the time.
 * Prints what was seen as JSON. Usage: `path-race.mjs <folder>`.
 */
import { early } from './early-fs.mjs'
import { fork } from 'node:child_process'
import fs from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { guard, presets } from '@retake/guard'

const [, , folder] = process.argv
const root = join(folder, 'root')
const outside = join(folder, 'outside')
fs.mkdirSync(root)
fs.mkdirSync(outside)
fs.writeFileSync(join(outside, 'file.txt'), 'outside')

const swapper = fork(new URL('path-swapper.mjs', import.meta.url), [root, outside])
await new Promise((resolve) => swapper.once('message', resolve))

const run = guard({
  name: 'race',
  policy: presets.sandbox({ root }),
  dir: join(folder, 'runs'),
  durability: 'process',
})
const missing = join(root, 'missing', 'one', 'two')
const ways = {
  readFileSync: (path) => fs.readFileSync(path, 'utf8'),
  'promises.readFile': (path) => fs.promises.readFile(path, 'utf8'),
  createReadStream: async (path) => {
    let text = ''
    for await (const piece of fs.createReadStream(path, 'utf8')) text += piece
    return text
  },
  openSync: (path) => {
    const fd = fs.openSync(path, 'r')
    const text = fs.readFileSync(fd, 'utf8')
    fs.closeSync(fd)
    return text
  },
  copyFileSync: (path) => {
    fs.copyFileSync(path, join(root, 'copy.txt'))
    return fs.readFileSync(join(root, 'copy.txt'), 'utf8')
  },
  writeFileSync: (path) => fs.writeFileSync(path, 'inside'),
  'promises.appendFile': (path) => fs.promises.appendFile(path, ''),
  truncateSync: (path) => fs.truncateSync(path, 6),
  chmodSync: (path) => fs.chmodSync(path, 0o640),
  'writeFileSync of a new file': (path) => fs.writeFileSync(`${path}.new`, 'inside'),
  mkdirSync: (path) => fs.mkdirSync(`${path}.made`),
  'mkdirSync of folders': () => fs.mkdirSync(missing, { recursive: true }),
  'mkdir of folders': () => promisify(fs.mkdir)(missing, { recursive: true }),
  'promises.mkdir of folders': () => fs.promises.mkdir(missing, { recursive: true }),
  'readFile of before': (path) => early.promises.readFile(path, 'utf8'),
  'writeFileSync of before': (path) => early.writeFileSync(path, 'inside'),
  'copyFile of before': async (path) => {
    await early.promises.copyFile(path, join(root, 'copy.txt'))
    return early.readFileSync(join(root, 'copy.txt'), 'utf8')
  },
  'utimes of before': (path) => early.promises.utimes(path, 1, 1),
}
run.tool('touch', ({ way, name }) => ways[way](join(root, ...name)))

const stats = fs.statSync(join(outside, 'file.txt'))
const seen = { tries: 0, done: 0, denied: 0, failed: 0, texts: [], codes: [] }
const note = (list, value) => void (value === undefined || list.includes(value) || list.push(value))
for (let round = 0; round < 20; round++) {
  for (const way of Object.keys(ways)) {
    for (const name of [['file.txt'], ['folder', 'file.txt'], ['gone', 'file.txt']]) {
      // Split, so that no look at the arguments stops it before the boundary does.
      const { status, output, error } = await run.call('touch', { way, name })
      seen.tries += 1
      seen[status] += 1
      note(seen.texts, output)
      note(seen.codes, error?.code)
    }
  }
}
const isSwapping = swapper.exitCode === null
swapper.kill()
run.end()
const after = fs.statSync(join(outside, 'file.txt'))
console.log(
  `\n${JSON.stringify({
    ...seen,
    isSwapping,
    outside: fs.readdirSync(outside),
    content: fs.readFileSync(join(outside, 'file.txt'), 'utf8'),
    isUntouched: after.mode === stats.mode && after.mtimeMs === stats.mtimeMs,
  })}`,
)
process.exit(0)
