/** Prints how many milliseconds the first call of a sandboxed tool takes in a new process. */
import { fileURLToPath } from 'node:url'
import { guard, presets } from '@retake/guard'

const [dir] = process.argv.slice(2)
const run = guard({
  name: 'first',
  dir,
  durability: 'process',
  policy: presets.sandbox({ root: dir }),
})
const module = fileURLToPath(new URL('sandboxed-tool.mjs', import.meta.url))
run.tool('noop', { module, export: 'noop', sandbox: true })
const started = performance.now()
const { status } = await run.call('noop', { a: 1 })
if (status === 'done') console.log(performance.now() - started)
run.end()
