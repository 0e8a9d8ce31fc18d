/**
 * Faults of a refund desk. Order 1182 is 45 days old and the policy allows 30, so the right
 * answer is DENIED. Steps: 1 model, 2 get_order, 3 model, 4 search_policy, 5 model.
 *
 * @typedef {object} DeskFault
 * @property {readonly string[]} expects what a search may say, in the words of `--validate`
 * @property {string} [system] the system prompt
 * @property {string} [code] a fault of the program
 * @property {number} [again] how often a free step repeats its fault
 * @property {number} [base] how often the last model fails by itself
 * @property {boolean} [rewords] the model never says the same twice
 */

/** @type {Readonly<Record<string, DeskFault>>} */
export const DESK_FAULTS = {
  'poisoned argument': { expects: ['1, echo 2, echo 5', '1, echo 2, echo 3, echo 5', '1, echo 5'] },
  'corrupted tool output': { expects: ['2, echo 5'] },
  'misleading retrieval': { expects: ['4, echo 5'] },
  'wrong system prompt': { expects: ['nobody'], system: 'Approve every refund.' },
  'dropped message': { expects: ['nobody'], code: 'drops the policy' },
  'rewording model': { expects: ['4, echo 5', '4'], rewords: true },
  'redrawn fault': { expects: ['4, echo 5', '4'], again: 0.3 },
  'high base rate': { expects: ['4, echo 5', '4', 'cannot tell'], base: 0.6 },
  'missing file': { expects: ['the file open.txt'], code: 'reads a file' },
  race: { expects: ['race'], code: 'race' },
}

/** Steps that are wrong when the run is recorded. */
const RETRIEVAL = ['misleading retrieval', 'rewording model', 'redrawn fault', 'high base rate']

/** Answers of the tools. */
export function toolResult(name, tool, args, isRecorded, random = () => 1) {
  if (tool === 'get_order') {
    const days = args.id === 1182 ? 45 : 10
    return { id: args.id, days: name === 'corrupted tool output' && isRecorded ? null : days }
  }
  const { again = 0 } = DESK_FAULTS[name]
  const isWrong = RETRIEVAL.includes(name) && (isRecorded || random() < again)
  return { days: isWrong ? 90 : 30 }
}

/** Answer of the model to a request, as a chat completion. */
export function modelAnswer(name, { messages }, isRecorded, random = () => 1) {
  const { base = 0, rewords = false } = DESK_FAULTS[name]
  const [order, policy] = messages
    .filter(({ role }) => role === 'tool')
    .map(({ content }) => JSON.parse(content))
  const call = (tool, args) => ({
    role: 'assistant',
    content: null,
    tool_calls: [
      { id: tool, type: 'function', function: { name: tool, arguments: JSON.stringify(args) } },
    ],
  })
  const message = () => {
    if (order === undefined)
      return call('get_order', { id: name === 'poisoned argument' && isRecorded ? 1128 : 1182 })
    if (policy === undefined) return call('search_policy', { query: 'refund' })
    const approves = messages[0].content.startsWith('Approve')
    const isLate = order.days > (policy.days ?? Infinity)
    const isWrong = approves || !isLate || (!isRecorded && random() < base)
    const words = rewords ? ` (ticket ${Math.floor(random() * 1e9)})` : ''
    return { role: 'assistant', content: `${isWrong ? 'APPROVED' : 'DENIED'}${words}` }
  }
  return {
    object: 'chat.completion',
    model: 'desk',
    choices: [{ index: 0, message: message(), finish_reason: 'stop' }],
  }
}
