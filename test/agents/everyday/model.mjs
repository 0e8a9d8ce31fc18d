/** Sends one chat request to the model, as a small program without an SDK would. */
export async function ask(content) {
  const response = await fetch(`${process.env.AGENT_BASE_URL}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'gpt-example', messages: [{ role: 'user', content }] }),
  })
  const { choices } = await response.json()
  return choices[0].message.content
}
