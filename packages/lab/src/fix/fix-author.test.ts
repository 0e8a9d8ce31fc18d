import { expect, test } from 'vitest'
import { readEdits } from './fix-author.js'

const sources = [{ path: 'src/agent.ts', text: 'const days = 60\n' }]
const block = ['src/agent.ts', '<<<<<<< SEARCH', 'const days = 60', '=======', 'const days = 30']

test('a search-and-replace block is an edit', () => {
  expect(readEdits([...block, '>>>>>>> REPLACE'].join('\n'), sources)).toEqual({
    edits: [{ path: 'src/agent.ts', before: 'const days = 60\n', after: 'const days = 30\n' }],
  })
})

test.each([
  ['cut off', block.join('\n')],
  ['prose', 'The window should be 30 days.'],
  ['prose', '--- a/src/agent.ts\n+++ b/src/agent.ts\n@@ -1 +1 @@\n-const days = 60\n+x'],
  ['no change', [...block.slice(0, 4), 'const days = 60', '>>>>>>> REPLACE'].join('\n')],
])('an unusable answer is reported as: %s', (unusable, answer) => {
  expect(readEdits(answer, sources)).toEqual({ unusable })
})
