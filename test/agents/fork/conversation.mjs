// Twenty steps: ten times a model is asked and a tool looks at its answer. What
// either says goes into the next question, so that a change anywhere is seen in
// everything after it.
//
//     node conversation.mjs <client> [rounds]
import { tool } from '@retake/engine'
import { clients } from './clients.mjs'

const [name, rounds = '10'] = process.argv.slice(2)
const ask = await clients[name]()
const weigh = tool('weigh', ({ round, text }) => ({
  round,
  heard: text.slice(0, 24),
  weight: Math.random(),
}))

let seen = 'nothing yet'
for (let round = 1; round <= Number(rounds); round++) {
  const content = `round ${round} at ${Date.now()}, dice ${Math.random()}, seen: ${seen}`
  let text
  try {
    text = await ask([{ role: 'user', content }])
  } catch (error) {
    text = `failed with ${error.status ?? error.response?.status ?? error.message}`
  }
  console.log(`model ${round}: ${text}`)
  const { heard, weight } = await weigh({ round, text })
  console.log(`tool ${round}: ${heard} ${weight}`)
  seen = `${heard} ${weight}`
}
ask.close?.()
