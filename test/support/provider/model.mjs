/**
 * What the stand-in model "thinks", free of any wire format: whether it calls
 * tools or answers, what it says, and how many tokens that was.
 *
 * @typedef {{ readonly id: string, readonly name: string, readonly arguments: string }} ToolCall
 * @typedef {{
 *   readonly text: string,
 *   readonly words: readonly string[],
 *   readonly toolCalls: readonly ToolCall[],
 *   readonly usage: { readonly input: number, readonly cached: number, readonly cacheWrite: number,
 *     readonly output: number, readonly reasoning: number },
 * }} Thought
 */

const vocabulary = [
  'the',
  'refund',
  'für',
  'order',
  'は',
  '☃',
  'naïve',
  '🚀',
  'policy',
  'says',
  'déjà',
  'ok',
]
const cities = ['Oslo', 'Zürich', '東京', 'São Paulo']

/**
 * @param {object} request
 * @param {readonly string[]} request.toolNames Tools the request offers.
 * @param {number} request.toolRounds Rounds of tool results already in the conversation.
 * @param {number} request.promptLength Length of the prompt in characters.
 * @param {string} request.toolIdPrefix How this provider's tool call ids begin.
 * @param {import('./dice.mjs').Dice} dice
 * @returns {Thought}
 */
export function think({ toolNames, toolRounds, promptLength, toolIdPrefix }, dice) {
  // Always one round of tools, never more than three: agents must end.
  const wantsTools =
    toolNames.length > 0 && (toolRounds === 0 || (toolRounds < 3 && dice.chance(0.4)))
  const toolCalls = wantsTools
    ? Array.from({ length: dice.between(1, 3) }, () => ({
        id: dice.id(toolIdPrefix),
        name: dice.pick(toolNames),
        arguments: JSON.stringify({ city: dice.pick(cities), days: dice.between(1, 9) }),
      }))
    : []
  const words = wantsTools
    ? []
    : [
        'answer',
        String(dice.between(0, 999_999)),
        ...Array.from({ length: dice.between(4, 10) }, () => dice.pick(vocabulary)),
        'über ☃ done.',
      ]
  const input = Math.max(8, Math.ceil(promptLength / 4))
  const reasoning = dice.between(0, 40)
  return {
    text: words.join(' '),
    words: words.map((word, index) => (index === 0 ? word : ` ${word}`)),
    toolCalls,
    usage: {
      input,
      cached: Math.floor((input * dice.between(0, 3)) / 4),
      cacheWrite: dice.between(0, 4),
      output: words.length + toolCalls.length * 12 + reasoning,
      reasoning,
    },
  }
}

/** Cuts text into two or three parts, as models stream arguments. @param {string} text @param {import('./dice.mjs').Dice} dice */
export function split(text, dice) {
  const first = dice.between(1, text.length - 1)
  const second = dice.between(first, text.length)
  return [text.slice(0, first), text.slice(first, second), text.slice(second)].filter(
    (part) => part !== '',
  )
}
