/** Stream members of all providers that contain the model's text or the arguments of its calls. */
export const TEXT_MEMBERS: readonly string[] = [
  'text',
  'content',
  'arguments',
  'partial_json',
  'thinking',
  'delta',
  'reasoning',
  'reasoning_content',
  'refusal',
  'transcript',
  'output_text',
  'response',
  'generation',
  'outputText',
  'completion',
]

/** Finds these members in JSON: their names, and their texts without quotes. */
export const textMembers = (names = TEXT_MEMBERS): RegExp =>
  new RegExp(String.raw`"(${names.join('|')})"\s*:\s*"((?:[^"\\]|\\.)*)"`, 'g')
