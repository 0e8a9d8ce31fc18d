// A chat that an SDK retries by itself, while another task is busy in code of ours.
import OpenAI from 'openai'

const client = new OpenAI({
  apiKey: 'none',
  baseURL: `${process.env.AGENT_BASE_URL}/v1`,
  maxRetries: 3,
})
const state = { isOver: false }

async function tick() {
  let ticks = 0
  while (!state.isOver) {
    await new Promise((resolve) => setTimeout(resolve, 1))
    ticks += 1
  }
  return ticks
}

async function ask(question) {
  const completion = await client.chat.completions.create({
    model: 'gpt-example',
    messages: [{ role: 'user', content: question }],
    user: 'flaky:once:2:503',
  })
  const answer = completion.choices[0].message.content
  state.isOver = true
  return answer
}

const [answer, ticks] = await Promise.all([ask('Why?'), tick()])
console.log(answer.length, ticks)
