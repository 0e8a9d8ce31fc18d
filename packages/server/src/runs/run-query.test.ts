import { expect, test } from 'vitest'
import { parseRunQuery, wordsOf } from './run-query.js'

test('words of a text are found by a search for them, in any language and case', () => {
  const text = 'GPT-4o said: “GRÖßE is 3.5 cm”, then “naïve” 価格'
  const words = new Set(wordsOf(text))
  for (const query of ['größe', 'Größe', 'gpt-4o', 'naïve', '3.5', '価格'])
    expect([...words], query).toEqual(expect.arrayContaining([...parseRunQuery(query).words]))
})
