/** A refund desk with a model and two tools: `node desk.mjs "poisoned argument" http://127.0.0.1:8080`. */
import { tool } from '@retake/engine'
import { existsSync } from 'node:fs'
import { DESK_FAULTS, toolResult } from './desk-faults.mjs'

const [name, url] = process.argv.slice(2)
const { system = 'Follow the policy.', code } = DESK_FAULTS[name]

/** Tools of the recorded run; a fork that leaves them free uses the simulator. */
const tools = Object.fromEntries(
  ['get_order', 'search_policy'].map((each) => [
    each,
    tool(each, async (args) => toolResult(name, each, args, true)),
  ]),
)

const messages = [
  { role: 'system', content: system },
  { role: 'user', content: 'May order 1182 be refunded?' },
]

async function ask() {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'desk', messages }),
  })
  const { choices } = await response.json()
  return choices[0].message
}

async function run() {
  if (code === 'race') {
    // Whoever answers last wins.
    let last
    const price = (shop, ms) =>
      tool(`price_${shop}`, () => new Promise((done) => setTimeout(done, ms, shop)))()
    await Promise.all(
      [price('right', 5), price('wrong', 60)].map((each) => each.then((shop) => (last = shop))),
    )
    return last === 'right' ? 'DENIED' : 'APPROVED'
  }
  for (;;) {
    const said = await ask()
    messages.push(said)
    if (said.tool_calls === undefined) return said.content
    for (const { id, function: called } of said.tool_calls) {
      const result = await tools[called.name](JSON.parse(called.arguments))
      if (code === 'drops the policy' && called.name === 'search_policy') result.days = undefined
      messages.push({ role: 'tool', tool_call_id: id, content: JSON.stringify(result) })
    }
  }
}

const answer = await run()
const isHoliday = code === 'reads a file' && !existsSync(new URL('open.txt', import.meta.url))
console.log(isHoliday || !answer.startsWith('DENIED') ? 'FAILED' : 'PASSED', answer)
