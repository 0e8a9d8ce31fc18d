/**
 * What the model of the contract suite says, whoever asks in whatever format:
 *
 * | asked | says |
 * |---|---|
 * | about an order, with a tool to find it | calls the tool |
 * | about an order, by an agent that can hand over | hands over |
 * | anything, after the result of a tool | repeats the result |
 * | `Say hello`, `Report on …`, `Plan …` | a few words |
 * | `Are you busy?` | 429 at first, then a few words |
 * | `Are you broken?` | 400 |
 * | `Be slow` | nothing for a while |
 *
 * @returns {(request: import('@retake/engine/testing').ModelRequest) =>
 *   import('@retake/engine/testing').ScriptedAnswer}
 */
export function createShopModel() {
  let isBusy = true
  return (request) => {
    const { role, text } = request.messages.at(-1) ?? { role: 'user', text: '' }
    const { tools, toolConfig } = request.body
    const offered = JSON.stringify([tools, toolConfig])
    const offers = (name) => offered.includes(`"${name}"`)
    if (role === 'tool' && text.includes('left the house'))
      return { text: `Found it: ${text}`, usage: { ...classes(request), input: 200, output: 30 } }
    if (offers(TRANSFER)) return call(TRANSFER, {})
    const asked = request.messages.findLast((message) => message.role === 'user')?.text ?? ''
    if (offers('find_order') && asked.includes('order 1182'))
      return call('find_order', { id: '1182' })
    if (text.includes('busy') && isBusy) {
      isBusy = false
      return { error: { status: 429, message: 'Too many requests', retryAfter: 0.05 } }
    }
    if (text.includes('broken')) return { error: { status: 400, message: 'That is no question' } }
    if (text.includes('slow')) return { text: 'At last.', delayMs: 2000 }
    if (text.includes('JSON')) return { text: '{"mood":"calm"}', usage: { input: 12, output: 7 } }
    if (text.includes('Plan'))
      return { text: 'north, south, east', usage: { input: 15, output: 6 } }
    return { text: `You said ${text}`, chunks: 4, usage: { input: 10, output: 5 } }
  }
}

const TRANSFER = 'transfer_to_Orders'

const call = (name, args) => ({
  toolCalls: [{ name, args }],
  usage: { input: 120, cachedInput: 40, output: 20 },
})

/** Classes of tokens that not every provider counts. */
const classes = ({ format }) => {
  switch (format) {
    case 'openai-chat':
    case 'openai-responses':
    case 'gemini':
      return { cachedInput: 100, reasoning: 10 }
    case 'anthropic':
    case 'bedrock-converse':
    case 'bedrock-invoke':
      return { cachedInput: 100, cacheWrite: 50 }
    default:
      return {}
  }
}
