/** Four concurrent workers: a tool and a request to a model, `CREW_TURNS` times each. */
import { tool } from '@retake/engine'

const url = `${process.env.AGENT_BASE_URL}/v1/chat/completions`

const weigh = tool('weigh', async (name) => {
  const grams = [...name].reduce((sum, char) => sum + char.charCodeAt(0), 0)
  await new Promise((resolve) => setTimeout(resolve, (grams * 7) % 13))
  return { name, grams }
})

const turns = Number(process.env.CREW_TURNS)
let total = 0

async function round(worker, turn) {
  const name = `${worker}:${turn}`
  const weighed = await weigh(name)
  total += weighed.grams
  const messages = [{ role: 'user', content: `Is ${name} heavy?` }]
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'gpt-example', messages }),
  })
  const completion = await response.json()
  const answer = completion.choices[0]?.message.content ?? ''
  return answer.length + weighed.grams
}

async function work(worker) {
  let sum = 0
  for (let turn = 1; turn <= turns; turn++) sum += await round(worker, turn)
  console.log('worker', worker, sum)
  return sum
}

const sums = await Promise.all([1, 2, 3, 4].map((worker) => work(worker)))
console.log('total', total, sums.length)
