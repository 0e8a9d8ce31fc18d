/** Act one: a guard that lets a tool read and nothing else. */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { guard, GuardError, presets } from 'retake'

const folder = path.join(import.meta.dirname, 'notes')
mkdirSync(folder, { recursive: true })
writeFileSync(path.join(folder, 'today.txt'), 'Water the plants.')

const run = guard({
  name: 'policy',
  policy: [presets.sandbox({ root: folder }), presets.readOnly()],
})
const read = ({ file }: { file: string }) => readFileSync(path.join(folder, file), 'utf8')
run.tool('read_note', read, { effects: ['read'] })
run.tool('clean_up', ({ file }: { file: string }) => rmSync(path.join(folder, file)), {
  effects: ['write'],
})

for (const [tool, file] of [
  ['read_note', 'today.txt'],
  ['read_note', '../policy.ts'],
  ['clean_up', 'today.txt'],
] as const) {
  const { status, output, error } = await run.call(tool, { file })
  console.log(`${tool}(${file}): ${status}`)
  if (error instanceof GuardError) console.log(`  ${error.code}\n  ${error.why}`)
  else console.log(' ', output)
}
