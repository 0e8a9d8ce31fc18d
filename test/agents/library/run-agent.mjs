// Records or replays one agent function with the library, in a process of its
// own. Its last line on stdout is JSON: what came of it.
//
//     node run-agent.mjs '{"mode":"record","agent":"agent.mjs","base":"http://…","dir":"…"}'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { record, replay } from '@retake/engine'

const task = JSON.parse(process.argv[2])
const { agent } = await import(pathToFileURL(path.resolve(task.agent)).href)
const run = () => agent(task.base)

/** What a caller can tell about an error. */
const described = (error) => ({
  class: error?.constructor?.name,
  name: error?.name,
  message: error?.message,
  code: error?.code,
  divergence: error?.divergence,
})

let result
const seen = []
try {
  result =
    task.mode === 'record'
      ? await record({ name: 'test', dir: task.dir }, run)
      : await replay(task.tape, run, { ...task.options, onDivergence: (each) => seen.push(each) })
} catch (error) {
  result = { error: described(error), divergences: seen }
}
// Time for whatever the agent left behind to show itself.
if (task.lingerMs) await new Promise((resolve) => setTimeout(resolve, task.lingerMs))
console.log(`\n${JSON.stringify(result)}`)
