export interface Answer {
  readonly id: string
  readonly text: string
}

interface Completion {
  id: string
  choices: { message: { content: string } }[]
}

export async function ask(question: string): Promise<Answer> {
  const response = await fetch(`${process.env['AGENT_BASE_URL']}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'gpt-example', messages: [{ role: 'user', content: question }] }),
  })
  const { id, choices } = (await response.json()) as Completion
  return { id, text: choices[0].message.content }
}
