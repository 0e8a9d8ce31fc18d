/** Four workers at once, ten steps each: a tool and a chat through a real SDK, five times. */
import OpenAI from 'openai'
import { tool } from 'retake'

interface Weighed {
  readonly name: string
  readonly grams: number
}

const client = new OpenAI({ apiKey: 'none', baseURL: `${process.env['AGENT_BASE_URL']}/v1` })

const weigh = tool('weigh', async (name: string): Promise<Weighed> => {
  const grams = [...name].reduce((sum, char) => sum + char.charCodeAt(0), 0)
  await new Promise((resolve) => setTimeout(resolve, (grams * 7) % 13))
  return { name, grams }
})

let total = 0

async function round(worker: number, turn: number): Promise<number> {
  const name = `${worker}:${turn}`
  const weighed = await weigh(name)
  total += weighed.grams
  const completion = await client.chat.completions.create({
    model: 'gpt-example',
    messages: [{ role: 'user', content: `Is ${name} heavy?` }],
  })
  const answer: string = completion.choices[0]?.message.content ?? ''
  return answer.length + weighed.grams
}

async function work(worker: number): Promise<number> {
  let sum = 0
  for (let turn = 1; turn <= 5; turn++) sum += await round(worker, turn)
  console.log('worker', worker, sum)
  return sum
}

const sums = await Promise.all([1, 2, 3, 4].map((worker) => work(worker)))
console.log('total', total, sums.length)
