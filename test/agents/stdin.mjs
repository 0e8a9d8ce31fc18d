// An agent that is talked to: answers each line of its stdin.
import { createInterface } from 'node:readline'

let line = 0
for await (const text of createInterface({ input: process.stdin })) {
  const response = await fetch(`${process.env.AGENT_BASE_URL}/echo`, { method: 'POST', body: text })
  const { number, random } = await response.json()
  console.log(line++, Date.now(), 'you said', text, number, random)
}
console.log(line++, 'end of input', Math.random(), process.argv.slice(2).join(' '))
