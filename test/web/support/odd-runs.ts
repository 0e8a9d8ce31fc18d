import { writeTape } from './write-tape.js'

/** Not UTF-8 at its third byte, and nothing like text. */
export const BINARY = Uint8Array.from([0x89, 0x50, 0xff, 0xfe, 0x00, 0x0a, 0x41, 0x42])

/** A run of bodies that are hard to show: bytes, broken text, 20 MB, a long list, a deep nest. */
export function writeOddBodies(folder: string, id: string): void {
  const url = 'https://files.example.com/upload'
  writeTape(folder, { id }, (tape) => {
    tape.exchange(BINARY, [BINARY], {
      asked: { url, headers: [['content-type', 'image/png']] },
      told: { headers: [['content-type', 'image/png']] },
    })
    const broken = Buffer.concat([
      Buffer.from('{"name":"J'),
      Buffer.from([0xe9]),
      Buffer.from('r"}'),
    ])
    tape.exchange(broken, [broken], { asked: { url } })
    tape.chat([{ role: 'user', content: `start${'x'.repeat(20_000_000)}` }], 'read it')
    const many = JSON.stringify(Array.from({ length: 100_000 }, (_, index) => `entry ${index}`))
    tape.exchange(many, ['{}'], { asked: { url } })
    const deep = `${'['.repeat(10_000)}"bottom"${']'.repeat(10_000)}`
    tape.exchange(deep, ['{}'], { asked: { url } })
  })
}

/** Turns of the long conversation, each a question and an answer. */
export const TURNS = 280

/** One growing conversation, sent completely in every request. */
export function writeLongChat(folder: string, id: string): void {
  writeTape(folder, { id }, (tape) => {
    const messages: unknown[] = [{ role: 'system', content: 'Be brief.' }]
    for (let turn = 1; turn <= TURNS; turn++) {
      messages.push({ role: 'user', content: `question ${turn} ${'word '.repeat(40)}` })
      tape.chat(messages, `answer ${turn} ${'said '.repeat(40)}`)
      messages.push({ role: 'assistant', content: `answer ${turn} ${'said '.repeat(40)}` })
    }
  })
}

const delta = (content: string): string =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content } }] })}\n\n`

/** A tool loop with a streamed answer, output before and after it, a file, a line of code. */
export function writeToolLoop(folder: string, id: string, site: string): void {
  writeTape(folder, { id, details: { cwd: folder } }, (tape) => {
    const call = {
      id: 'call_1',
      type: 'function',
      function: { name: 'find_order', arguments: '{"order":"1182","deep":{"x.y":[1,2,{"z":3}]}}' },
    }
    const asking = { role: 'assistant', content: 'Let me look.', tool_calls: [call] }
    const question = [
      { role: 'system', content: 'You are a clerk.' },
      { role: 'user', content: 'Where is order 1182?' },
    ]
    tape.add({ type: 'output', stream: 'stdout' }, 'before\n')
    tape.chat(question, asking, {
      site,
      finish: 'tool_calls',
      within: [
        { kind: 'agent', name: 'clerk' },
        { kind: 'node', name: 'plan' },
      ],
    })
    tape.tool(
      'find_order',
      { order: '1182', deep: { 'x.y': [1, 2, { z: 3 }] } },
      { result: { where: 'Lisbon', days: 2 } },
    )
    tape.add({ type: 'output', stream: 'stderr' }, '\u001b[31mbetween\u001b[0m\n')
    tape.add({ type: 'call', kind: 'file', name: 'fs.writeFile', title: `${folder}/note.txt` })
    const told = { role: 'tool', tool_call_id: 'call_1', content: '{"where":"Lisbon","days":2}' }
    const pieces = ['It ', 'is ', 'in ', 'Lisbon.'].map(delta)
    tape.exchange(
      JSON.stringify({ model: 'gpt-4o-mini', stream: true, messages: [...question, asking, told] }),
      [...pieces, 'data: [DONE]\n\n'],
      { told: { headers: [['content-type', 'text/event-stream']], everyMs: 200 } },
    )
    tape.add({ type: 'output', stream: 'stdout' }, 'after\n')
    tape.tool(
      'give_up',
      {},
      {
        error: {
          class: 'PolicyError',
          base: 'TypeError',
          name: 'PolicyError',
          message: 'not allowed',
          code: 'E_POLICY',
          stack: `PolicyError: not allowed\n    at check (node:internal/x:1:1)\n    at give (${site})`,
          cause: { class: 'Error', name: 'Error', message: 'the root of it' },
        },
      },
    )
  })
}
