import { describe, expect, it } from 'vitest'
import { maskRequest, MASK_TEXT, splitInput, wholeSpans, type TextSpan } from './split-input.js'
import { splitText } from './blame-spans.js'

const chat = {
  model: 'm',
  messages: [
    { role: 'system', content: 'Be brief.' },
    {
      role: 'user',
      content: [
        { type: 'text', text: 'Refund?' },
        { type: 'image_url', image_url: { url: 'data:x' } },
      ],
    },
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'c1', type: 'function', function: { name: 'look', arguments: '{}' } }],
    },
    { role: 'tool', tool_call_id: 'c1', content: '{"days": 14, "policy": "no refunds"}' },
  ],
}
const messages = {
  system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }],
  messages: [
    { role: 'user', content: 'Refund?' },
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'hm', signature: 's' },
        { type: 'text', text: 'I look.' },
        { type: 'tool_use', id: 't1', name: 'look', input: { q: 'refund' } },
        { type: 'tool_use', id: 't2', name: 'look', input: { q: 'days' } },
      ],
    },
    {
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: 't1', content: 'No refunds.' },
        { type: 'tool_result', tool_use_id: 't2', content: [{ type: 'text', text: '14 days' }] },
        { type: 'text', text: 'Go on.' },
      ],
    },
  ],
}
const responses = {
  instructions: 'Be brief.',
  input: [
    { role: 'user', content: [{ type: 'input_text', text: 'Refund?' }] },
    { type: 'reasoning', summary: [{ type: 'summary_text', text: 'hm' }], encrypted_content: 'e' },
    { type: 'function_call', call_id: 'c1', name: 'look', arguments: '{}' },
    { type: 'function_call_output', call_id: 'c1', output: 'No refunds.' },
  ],
}
const gemini = {
  systemInstruction: { parts: [{ text: 'Be brief.' }] },
  contents: [
    { role: 'user', parts: [{ text: 'Refund?' }] },
    {
      role: 'model',
      parts: [
        { text: 'hm', thought: true },
        { functionCall: { name: 'look', args: {} }, thoughtSignature: 's' },
      ],
    },
    {
      role: 'user',
      parts: [
        { functionResponse: { name: 'look', response: { output: 'No refunds.', days: 14 } } },
      ],
    },
  ],
}
const converse = {
  system: [{ text: 'Be brief.' }],
  messages: [
    { role: 'user', content: [{ text: 'Refund?' }] },
    { role: 'assistant', content: [{ toolUse: { toolUseId: 't1', name: 'look', input: {} } }] },
    {
      role: 'user',
      content: [{ toolResult: { toolUseId: 't1', content: [{ json: { days: 14, open: true } }] } }],
    },
  ],
}

const seen = (request: unknown) =>
  splitInput(request).map(({ path, speaker, locations }) => [
    path,
    speaker,
    ...locations.map(({ text }) => text),
  ])

describe('splitInput', () => {
  it('reads the parts of a request in every shape that providers have', () => {
    expect(seen(chat)).toEqual([
      ['messages.0', 'system', 'Be brief.'],
      ['messages.1', 'user', 'Refund?'],
      ['messages.3', 'tool', '{"days": 14, "policy": "no refunds"}'],
    ])
    expect(seen(messages)).toEqual([
      ['system', 'system', 'Be brief.'],
      ['messages.0', 'user', 'Refund?'],
      ['messages.1', 'assistant', 'I look.'],
      ['messages.2.content.0', 'tool', 'No refunds.'],
      ['messages.2.content.1', 'tool', '14 days'],
      ['messages.2', 'user', 'Go on.'],
    ])
    expect(seen(responses)).toEqual([
      ['instructions', 'system', 'Be brief.'],
      ['input.0', 'user', 'Refund?'],
      ['input.3', 'tool', 'No refunds.'],
    ])
    expect(seen(gemini)).toEqual([
      ['systemInstruction', 'system', 'Be brief.'],
      ['contents.0', 'user', 'Refund?'],
      ['contents.2.parts.0', 'tool', '{"output":"No refunds.","days":14}'],
    ])
    expect(seen(converse)).toEqual([
      ['system', 'system', 'Be brief.'],
      ['messages.0', 'user', 'Refund?'],
      ['messages.2.content.0', 'tool', '{"days":14,"open":true}'],
    ])
    expect(seen({ input: 'Refund?' })).toEqual([['input', 'user', 'Refund?']])
    expect(seen({ prompt: 'Refund?', system: 'Be brief.' })).toHaveLength(2)
  })

  it('treats anything else as a request without parts', () => {
    for (const request of [null, 'text', 3, [], {}, { messages: [null, 3, { role: 'user' }] }])
      expect(splitInput(request)).toEqual([])
  })
})

describe('maskRequest', () => {
  it('replaces texts and nothing else, so that messages, calls and ids stay', () => {
    for (const request of [chat, messages, responses, gemini, converse]) {
      const before = structuredClone(request)
      const all = splitInput(request).flatMap(wholeSpans)
      const masked = maskRequest(request, all)
      expect(request).toEqual(before)
      expect(shapeOf(masked)).toEqual(shapeOf(request))
      const words = JSON.stringify(masked)
      for (const said of ['Be brief', 'Refund?', 'No refunds', '14', '"open":true'])
        expect(words).not.toContain(said)
      // A request of which nothing is masked is the recorded one.
      expect(maskRequest(request, [])).toBe(request)
      // Text that represents a value stays such text.
      expect(splitInput(masked).map(({ path }) => path)).toEqual(
        splitInput(request).map(({ path }) => path),
      )
    }
  })

  it('keeps JSON valid, and masks only one field', () => {
    const [, , tool] = splitInput(chat)
    const [days, policy] = splitText(tool!.locations[0]!) as [TextSpan, TextSpan]
    const text = (spans: TextSpan[]) =>
      (maskRequest(chat, spans) as typeof chat).messages[3]!.content as string
    expect(text([days])).toBe(`{"days": "${MASK_TEXT}", "policy": "no refunds"}`)
    expect(text([policy, days])).toBe(`{"days": "${MASK_TEXT}", "policy": "${MASK_TEXT}"}`)
    const [result] = splitInput(converse).slice(-1)
    const open = splitText(result!.locations[0]!)[1]!
    expect(JSON.stringify(maskRequest(converse, [open]))).toContain(
      `{"days":14,"open":"${MASK_TEXT}"}`,
    )
  })

  it('masks several sentences of one text in place', () => {
    const request = { messages: [{ role: 'user', content: 'One 1.5 here. Two?  Three\n\nFour.' }] }
    const spans = splitText(splitInput(request)[0]!.locations[0]!)
    expect(spans).toHaveLength(4)
    const masked = maskRequest(request, [spans[2]!, spans[0]!]) as typeof request
    expect(masked.messages[0]!.content).toBe(`${MASK_TEXT} Two?  ${MASK_TEXT}\n\nFour.`)
  })
})

describe('splitText', () => {
  const piecesOf = (text: string, most?: number) =>
    splitText({ path: 'p', text, isValue: false }, most).map(({ ranges }) =>
      text.slice(ranges[0]!.start, ranges.at(-1)!.end),
    )

  it('cuts at sentences, or lines, or paragraphs, whichever are few enough', () => {
    const text = 'A is 1.5. B!\nC (see D). "E."\n\nF\nG。H'
    expect(piecesOf(text)).toEqual(['A is 1.5.', 'B!', 'C (see D).', '"E."', 'F', 'G。', 'H'])
    expect(piecesOf(text, 5)).toEqual(['A is 1.5. B!', 'C (see D). "E."', 'F', 'G。H'])
    expect(piecesOf(text, 3)).toEqual(['A is 1.5. B!\nC (see D). "E."', 'F\nG。H'])
    expect(piecesOf(text, 1)).toEqual([text])
  })

  it('cuts JSON at its fields, as deep as there is room', () => {
    const text = JSON.stringify({ a: 'x,"}', b: { c: [1, true], d: null }, e: [] })
    expect(piecesOf(text)).toEqual(['"x,\\"}"', '1', 'true', 'null', '[]'])
    expect(piecesOf(text, 4)).toEqual(['"x,\\"}"', '[1,true]', 'null', '[]'])
    expect(piecesOf(text, 3)).toEqual(['"x,\\"}"', '{"c":[1,true],"d":null}', '[]'])
    expect(piecesOf(text, 2)).toEqual(['"x,\\"}"', '{"c":[1,true],"d":null},"e":[]'])
  })

  it('never finds more than it may, never overlaps, and covers every word', () => {
    const texts = [
      'word '.repeat(3000),
      'Line one. Line two.\n'.repeat(400),
      'p\n\n'.repeat(500),
      JSON.stringify(Array.from({ length: 300 }, (_, id) => ({ id, name: `n${id}` }))),
      '[[[[[[[[1]]]]]]]]',
      '{"broken": ',
      '1.1.1.1.1',
    ]
    for (const text of texts) {
      const spans = splitText({ path: 'p', text, isValue: false })
      expect(spans.length).toBeGreaterThan(0)
      expect(spans.length).toBeLessThanOrEqual(40)
      const ranges = spans.flatMap((span) => span.ranges)
      let at = 0
      let left = ''
      for (const { start, end } of ranges) {
        expect(start).toBeGreaterThanOrEqual(at)
        expect(end).toBeGreaterThan(start)
        left += text.slice(at, start)
        at = end
      }
      left += text.slice(at)
      expect(left).toMatch(/^[\s{}[\],:]*$/)
    }
  })
})

/** JSON without what its texts and figures say. */
function shapeOf(value: unknown, key = ''): unknown {
  if (Array.isArray(value)) return value.map((item) => shapeOf(item, key))
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(
      Object.entries(value).map(([name, item]) => [name, shapeOf(item, name)]),
    )
  const isSaid = ['text', 'content', 'output', 'instructions', 'days', 'open'].includes(key)
  return isSaid && value !== null ? 'said' : value
}

it('masks a field that is false or empty, because it can be the cause', () => {
  const request = { prompt: '{"eligible": false, "orders": [], "left": 0, "note": null}' }
  for (const span of splitText(splitInput(request)[0]!.locations[0]!)) {
    const masked = maskRequest(request, [span]) as typeof request
    expect(JSON.parse(masked.prompt)).not.toEqual(JSON.parse(request.prompt))
  }
})
