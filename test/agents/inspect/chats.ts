/** Three chats at once through a real SDK, as a whole and streamed. Types are only blanked out. */
import OpenAI from 'openai'

const client = new OpenAI({ apiKey: 'none', baseURL: `${process.env['AGENT_BASE_URL']}/v1` })

async function ask(question: string): Promise<string> {
  const mine: string = `asked ${question}`
  const completion = await client.chat.completions.create({
    model: 'gpt-example',
    messages: [{ role: 'user', content: question }],
  })
  const answer: string = completion.choices[0]?.message.content ?? ''
  console.log(mine, answer.length)
  return answer
}

async function listen(question: string): Promise<number> {
  const stream = await client.chat.completions.create({
    model: 'gpt-example',
    messages: [{ role: 'user', content: question }],
    stream: true,
  })
  let heard = 0
  for await (const chunk of stream) {
    heard += chunk.choices[0]?.delta.content?.length ?? 0
  }
  console.log('heard', heard)
  return heard
}

const answers = await Promise.all(['one', 'two', 'three'].map((question) => ask(question)))
const heard = await listen('four')
console.log(answers.length, heard)
