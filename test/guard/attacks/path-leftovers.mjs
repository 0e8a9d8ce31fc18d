/**
 * What a tool does with files after its call, and what it is told where nothing can be thrown.
 * Prints what was seen as JSON. Usage: `path-leftovers.mjs <folder>`.
 */
import fs from 'node:fs'
import { join } from 'node:path'
import { guard, presets } from '@retake/guard'

const [, , folder] = process.argv
const root = join(folder, 'root')
const secret = join(folder, 'secret.txt')
const notes = join(root, 'notes.txt')
fs.mkdirSync(root)
fs.writeFileSync(secret, 'secret')
fs.writeFileSync(notes, 'inside')
const policy = presets.sandbox({ root })
const run = guard({ name: 'leftovers', policy, dir: join(folder, 'runs'), durability: 'process' })
const codeOf = (work) => {
  try {
    return String(work())
  } catch (error) {
    return error.code
  }
}

const exists = run.tool('exists', () => {
  const answers = [fs.existsSync(secret), fs.existsSync(notes)]
  return new Promise((resolve) =>
    fs.exists(secret, (there) => fs.exists(notes, (other) => resolve([...answers, there, other]))),
  )
})
const seen = { exists: await exists({}) }

let later
run.tool('leave', async () => {
  const fd = fs.openSync(notes, 'r+')
  const handle = await fs.promises.open(notes, 'r+')
  const isOver = Promise.withResolvers?.() ?? {}
  isOver.promise ??= new Promise((resolve) => (isOver.resolve = resolve))
  later = {
    end: isOver.resolve,
    done: isOver.promise.then(async () => ({
      open: codeOf(() => fs.openSync(notes)),
      write: codeOf(() => fs.writeSync(fd, 'late')),
      handle: await handle.write('late').then(String, (error) => error.code),
      close: codeOf(() => fs.closeSync(fd)),
    })),
  }
})
await run.call('leave', {})
later.end()
seen.later = await later.done
seen.content = fs.readFileSync(notes, 'utf8')

// A program goes on as before beside and after its guarded calls.
seen.outside = fs.readFileSync(secret, 'utf8')
process.chdir(folder)
run.end()
console.log(`\n${JSON.stringify(seen)}`)
