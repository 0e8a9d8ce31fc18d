// Records and replays functions that were copied, and clients that were created, before the
// first run. Its last line on stdout is JSON: by kind, what a replay gave.
//
//     node copied-early.mjs '{"copied":"before the first run"}' | '{"copied":"before the import"}'
import { once } from 'node:events'
import { rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { isDeepStrictEqual } from 'node:util'

const { copied } = JSON.parse(process.argv[2])

let count = 0
const server = createServer((incoming, response) => {
  incoming.resume().on('end', () => {
    const text = `answer ${++count}`
    const message = { role: 'assistant', content: text }
    response.setHeader('content-type', 'application/json')
    response.end(
      JSON.stringify({
        count,
        id: 'x',
        type: 'message',
        model: 'm',
        object: 'chat.completion',
        created: 1,
        message,
        done: true,
        choices: [{ index: 0, message, finish_reason: 'stop' }],
        content: [{ type: 'text', text }],
        usage: {
          prompt_tokens: 1,
          completion_tokens: 1,
          input_tokens: 1,
          output_tokens: 1,
          total_tokens: 2,
        },
      }),
    )
  })
})
server.listen(0, '127.0.0.1')
await once(server, 'listening')
const base = `http://127.0.0.1:${server.address().port}/`

const copy = async () => {
  const { default: functions } = await import('./copies.cjs')
  const { clients } = await import('./copying-clients.mjs')
  return { ...functions, ...clients(base) }
}
let kinds = copied === 'before the import' ? await copy() : undefined
const { openTape, readRun, record, replay } = await import('retake')
kinds ??= await copy()
// A connection that the pools of clients could use again.
await fetch(base)

const results = {}
for (const [kind, agent] of Object.entries(kinds)) {
  process.env['COPY_TEST'] = 'before'
  writeFileSync('note.txt', 'before')
  rmSync('other.txt', { force: true })
  const { output, run } = await record({ name: kind, dir: 'runs' }, () => agent(base))
  process.env['COPY_TEST'] = 'after'
  writeFileSync('note.txt', 'after it was recorded')
  writeFileSync('other.txt', '')
  const asked = count
  const replayed = await replay(run.path, () => agent(base)).then(
    (again) => (isDeepStrictEqual(again.output, output) ? 'identical' : 'different'),
    ({ code, message }) => code ?? message,
  )
  results[kind] = {
    replayed,
    isOffline: count === asked,
    events: [...openTape(run.path).events()].length,
    notCaptured: readRun(openTape(run.path)).notCaptured.map(({ what }) => what),
  }
}
console.log(`\n${JSON.stringify(results)}`)
process.exit()
