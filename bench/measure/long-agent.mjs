/**
 * An agent of many steps, three at once: each asks a model with the last part of its
 * conversation, then calls a tool. Nothing it keeps grows without end.
 */
import { tool } from 'retake'

const [url, steps] = process.argv.slice(2)
const LANES = 3
const HISTORY = 20

const lookUp = tool('look_up', async (question) => ({ question, found: question.length % 7 }))

async function work(lane, turns) {
  const messages = []
  let sum = 0
  for (let turn = 1; turn <= turns; turn++) {
    const question = `lane ${lane}, turn ${turn}: ${'what follows from this? '.repeat(10)}`
    messages.push({ role: 'user', content: question })
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'gpt-example', messages: messages.slice(-HISTORY) }),
    })
    const answer = await response.json()
    messages.push(answer.choices[0].message)
    const { found } = await lookUp(question)
    sum += found
  }
  return sum
}

const turns = Math.ceil(Number(steps) / 2 / LANES)
const sums = await Promise.all(Array.from({ length: LANES }, (_, lane) => work(lane, turns)))
console.log(sums.join(' '))
