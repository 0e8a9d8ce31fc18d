/** Four workers at once, ten steps each: a tool and a question to a model, five times. */
import { tool } from 'retake'

interface Weighed {
  readonly name: string
  readonly grams: number
}

interface Completion {
  readonly choices: readonly { readonly message: { readonly content: string } }[]
}

const url = `${process.env['AGENT_BASE_URL']}/v1/chat/completions`

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
  const messages = [{ role: 'user', content: `Is ${name} heavy?` }]
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'gpt-example', messages }),
  })
  const completion = (await response.json()) as Completion
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
