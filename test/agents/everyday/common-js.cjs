const { default: OpenAI } = require('openai')
const fs = require('fs')

async function main() {
  const client = new OpenAI({ apiKey: 'none', baseURL: `${process.env.AGENT_BASE_URL}/v1` })
  const { choices, id } = await client.chat.completions.create({
    model: 'gpt-example',
    messages: [{ role: 'user', content: fs.readFileSync(__filename, 'utf8') }],
  })
  console.log(id, choices[0].message.content, new Date().toISOString())
}

main()
