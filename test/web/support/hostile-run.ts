import { writeTape } from './write-tape.js'

/**
 * A text that would do something if any place of the page took it for more than text:
 * markup, script, an address that runs, escapes of terminals, turned direction, letters
 * without width, a null, half a character. `where` tells which place did it.
 */
export const hostile = (where: string): string =>
  `${where}<img src=x onerror="window.__hacked='${where}'">` +
  `<script>window.__hacked='${where}'</script>"'\`javascript:window.__hacked='${where}'` +
  `[x](javascript:alert(1)) http://127.0.0.1:9/beacon &lt;b&gt;` +
  `\u202eevil\u202c\u200b\u0000\u001b[31mred\u001b]8;;http://127.0.0.1:9/\u0007link\ud83d end`

/** A run in which everything that a program, a model or a server can name is hostile. */
export function writeHostileRun(folder: string, id: string): void {
  writeTape(folder, { id, name: hostile('run name') }, (tape) => {
    const within = [
      { kind: 'agent', name: hostile('agent place') },
      { kind: 'tool', name: hostile('tool place') },
    ] as const
    const site = `/agent/${hostile('site')}.ts:3:5`
    tape.add({ type: 'note', kind: 'mark', name: hostile('mark name'), text: hostile('mark') })
    tape.add({ type: 'output', stream: 'stdout' }, `${hostile('stdout')}\n`)
    tape.add({ type: 'output', stream: 'stderr' }, `${hostile('stderr')}\n`)
    tape.add({ type: 'call', kind: 'file', name: 'fs.readFile', title: hostile('file path') })
    tape.chat(
      [
        { role: 'system', content: hostile('system') },
        { role: 'user', content: `\`\`\`${hostile('fence')}\n${hostile('code')}\n\`\`\`` },
        { role: 'user', content: [{ type: hostile('part type'), text: hostile('part') }] },
        {
          role: 'user',
          content: [{ type: 'image_url', image_url: { url: hostile('image url') } }],
        },
        {
          role: 'assistant',
          content: null,
          tool_calls: [
            {
              id: hostile('call id'),
              type: 'function',
              function: {
                name: hostile('called tool'),
                arguments: JSON.stringify({ [hostile('key')]: hostile('argument') }),
              },
            },
          ],
        },
        { role: 'tool', tool_call_id: hostile('call id'), content: hostile('tool content') },
      ],
      hostile('answer'),
      {
        url: `https://api.openai.com/v1/chat/completions?q=${encodeURIComponent('<b>')}`,
        headers: [
          [hostile('header name'), hostile('header value')],
          ['authorization', 'retake-hidden'],
        ],
        model: hostile('model'),
        finish: hostile('finish reason'),
        within,
        site,
      },
    )
    tape.exchange(hostile('request body'), [hostile('response body')], {
      asked: { url: `https://example.com/${hostile('url')}` },
      told: {
        status: 500,
        statusText: hostile('status text'),
        headers: [[hostile('answered name'), hostile('answered value')]],
      },
    })
    tape.tool(
      hostile('tool name'),
      { [hostile('args key')]: hostile('args value') },
      { result: [hostile('result')] },
      { within, site },
    )
    tape.tool(hostile('failing tool'), hostile('args'), {
      error: {
        class: hostile('error class'),
        name: hostile('error name'),
        message: hostile('error message'),
        code: hostile('error code'),
        stack: `Error: ${hostile('stack message')}\n    at run (${site})`,
        props: { [hostile('prop')]: hostile('prop value') },
        cause: { class: 'Error', name: 'Error', message: hostile('cause') },
      },
    })
  })
}
