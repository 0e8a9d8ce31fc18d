// Records or replays agent functions with the library, in a process of its own,
// one after another. Its last line on stdout is JSON: what came of each.
//
//     node run-agent.mjs '[{"mode":"record","agent":"agent.mjs","base":"http://…","dir":"…"}]'
//
// `name` chooses another function of the module than `agent`.
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { record, replay } from '@retake/engine'

/** What a caller can tell about an error. */
const described = (error) => ({
  class: error?.constructor?.name,
  name: error?.name,
  message: error?.message,
  code: error?.code,
  divergence: error?.divergence,
})

async function runTask({ mode, agent, name = 'agent', base, dir, tape, options, lingerMs }) {
  const module = await import(pathToFileURL(path.resolve(agent)).href)
  const run = () => module[name](base)
  const started = performance.now()
  const divergences = []
  const onDivergence = (each) => divergences.push(each)
  try {
    const result =
      mode === 'record'
        ? await record({ name, dir }, run)
        : await replay(tape, run, { ...options, onDivergence })
    return { ...result, ms: performance.now() - started }
  } catch (error) {
    return { error: described(error), divergences }
  } finally {
    // Time for whatever the agent left behind to show itself.
    if (lingerMs) await new Promise((resolve) => setTimeout(resolve, lingerMs))
  }
}

const results = []
for (const task of JSON.parse(process.argv[2])) results.push(await runTask(task))
console.log(`\n${JSON.stringify(results)}`)
