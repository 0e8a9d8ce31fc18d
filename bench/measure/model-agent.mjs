/** An agent of many steps: it asks a model that takes its time, looks at the clock, and says what it got. */
const [url, steps] = process.argv.slice(2)
const messages = [{ role: 'user', content: 'Count.' }]

for (let step = 1; step <= Number(steps); step++) {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'gpt-example', messages }),
  })
  const answer = await response.json()
  messages.push(answer.choices[0].message, { role: 'user', content: `And step ${step}?` })
  console.log(step, Date.now(), crypto.randomUUID(), answer.usage.total_tokens)
}
