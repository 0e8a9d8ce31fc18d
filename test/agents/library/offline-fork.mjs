// Forks a run in its own process with an offline tail, twice: once with an edit that changes
// nothing after it, once with one that does. Prints what came of both as JSON.
//
//     node offline-fork.mjs <url> <folder>
import { fork, record, replay, tool } from '@retake/engine'

const [url, dir] = process.argv.slice(2)
let toolCalls = 0
const look = tool('look', async (n) => {
  toolCalls += 1
  return { n, remark: 'fine', at: Date.now() }
})

async function agent() {
  const heard = []
  for (let round = 1; round <= 3; round++) {
    const answers = await Promise.all(
      [1, 2, 3].map(async (lane) => {
        const body = JSON.stringify({ round, lane, id: crypto.randomUUID(), heard: heard.at(-1) })
        const response = await fetch(`${url}/echo`, { method: 'POST', body })
        return (await response.json()).random
      }),
    )
    heard.push(answers[0] + (await look(round)).n)
  }
  return heard
}

const { output, run } = await record({ name: 'offline', dir }, agent)
const calls = toolCalls
const same = await fork(run.path, agent, { at: 4, set: { remark: 'odd' }, tail: 'offline' })
const other = await fork(run.path, agent, { at: 4, set: { n: 70 }, tail: 'offline' }).catch(
  ({ code, divergence }) => ({ code, divergence }),
)
const again = await replay(same.run.path, agent)
console.log(
  JSON.stringify({
    isSame: JSON.stringify(same.output) === JSON.stringify(output),
    replaysSame: JSON.stringify(again.output) === JSON.stringify(output),
    toolCalls: toolCalls - calls,
    other,
  }),
)
