// Four lanes at once, five steps each: model, tool, model, tool, model. What a
// lane heard goes into its next question.
import { setTimeout as sleep } from 'node:timers/promises'
import { tool } from '@retake/engine'
import { clients } from './clients.mjs'

const kinds = ['openai-chat-stream', 'http', 'http2', 'openai-chat']
const weigh = tool('weigh', async ({ lane, text }) => {
  await sleep(Math.random() * 8)
  return { lane, heard: text.slice(0, 24), weight: Math.random() }
})

async function runLane(lane) {
  const ask = await clients[kinds[lane]]()
  let seen = 'nothing yet'
  for (let round = 1; round <= 3; round++) {
    const text = await ask([
      { role: 'user', content: `lane ${lane} round ${round}, seen: ${seen}` },
    ])
    console.log(`lane ${lane} model ${round}: ${text}`)
    seen = text
    if (round === 3) break
    const { heard, weight } = await weigh({ lane, text })
    console.log(`lane ${lane} tool ${round}: ${heard} ${weight}`)
    seen = `${heard} ${weight}`
  }
  ask.close?.()
}

await Promise.all(kinds.map((_, lane) => runLane(lane)))
