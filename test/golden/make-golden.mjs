/**
 * Writes the golden tapes of the present format: `node test/golden/make-golden.mjs`. AGENTS.md says
 * when to run it.
 */
import { createPrivateKey } from 'node:crypto'
import { appendFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { nodePlatform, openFileSource, openOwnTape, TapeWriter } from '@retake/tape/node'
import { openLayout } from '../../packages/tape/dist/format/layout.js'
import { packFrames } from '../../packages/tape/dist/format/pack.js'

/** How the tapes of the present format are called. */
const FORMAT = 'format-1'

/** A key that everybody knows. */
const privateKey = createPrivateKey({
  key: Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), Buffer.alloc(32, 7)]),
  format: 'der',
  type: 'pkcs8',
})

const run = {
  type: 'run',
  id: '01HF0000000000000000000000',
  name: 'golden',
  startedAt: 1_763_180_000_000,
  scope: 'process',
  node: 'v20.20.2',
  parent: { run: '01HE0000000000000000000000', seq: 7, chain: 'ab'.repeat(32) },
}
const details = {
  entry: 'agent.mjs',
  args: ['--city', 'Zürich'],
  cwd: '/agent',
  env: { LANG: 'C' },
}

const system = 'You are a weather agent. Answer in one sentence. '.repeat(12)
const ask = (...messages) => JSON.stringify({ model: 'm-1', system, messages, stream: true })
const post = {
  type: 'request',
  seam: 'fetch',
  method: 'POST',
  url: 'https://model.example/v1/messages',
  headers: [['content-type', 'application/json']],
  site: 'agent.mjs:10:3',
}
const failure = { class: 'TypeError', name: 'TypeError', message: 'no wind', code: 'E_WIND' }

/**
 * Every type of event, and every way to store a body. The run continues another one, so the event at
 * position 1 has the number 7, by which others name it.
 */
const events = [
  [{ type: 'draw', kind: 'Date.now', value: 1_763_180_000_001 }],
  [{ type: 'draw', kind: 'Math.random', value: 0.123456789 }],
  [{ type: 'note', kind: 'mark', name: 'start', text: 'tab\tquote"newline\nsnow ☃ 😀' }],
  [{ type: 'timer', kind: 'timeout', ms: 30_000 }],
  [post, ask('Weather in Zürich?')],
  [{ type: 'response', op: 11, status: 200, statusText: 'OK', headers: [['x-id', 'r1']] }],
  [{ type: 'deliver', op: 11, part: 'chunk' }, 'data: {"text":"Let me "}\n\n'],
  [{ type: 'deliver', op: 11, part: 'chunk' }, 'data: {"text":"look."}\n\n'],
  [{ type: 'deliver', op: 11, part: 'end' }],
  [
    { type: 'call', kind: 'tool', name: 'weather', as: 'json', site: 'agent.mjs:20:5' },
    '["Zürich"]',
  ],
  [{ type: 'result', op: 16, as: 'json' }, JSON.stringify({ days: Array(60).fill('sunny, 20°') })],
  [post, ask('Weather in Zürich?', 'Let me look.', 'sunny')],
  [post, ask('Weather in Zürich?', 'Let me look.', 'sunny')],
  [{ type: 'call', kind: 'tool', name: 'weather', as: 'json' }, '["Zürich"]'],
  [{ type: 'result', op: 20, as: 'json' }, JSON.stringify({ days: Array(60).fill('sunny, 20°') })],
  [{ type: 'call', kind: 'tool', name: 'wind', sync: true }],
  [{ type: 'result', op: 22, error: failure }],
  [{ type: 'work', name: 'zlib.gzip' }],
  [{ type: 'deliver', op: 24, part: 'end' }],
  [{ type: 'socket', kind: 'tls', host: 'db.example', port: 5432 }],
  [
    { type: 'deliver', op: 26, part: 'chunk', written: 8, digest: 'cd'.repeat(32) },
    Buffer.from([0, 255, 10, 9]),
  ],
  [{ type: 'deliver', op: 10, part: 'fire' }],
  [{ type: 'output', stream: 'stdout' }, 'It is sunny in Zürich.\n'],
  [{ type: 'call', kind: 'process', name: 'spawn', title: 'docs', as: 'json' }, '{"file":"docs"}'],
  [{ type: 'write', op: 30 }, '{"jsonrpc":"2.0","id":0,"method":"tools/list"}\n'],
  [
    { type: 'deliver', op: 30, part: 'chunk', pipe: 1, written: 47, digest: 'ef'.repeat(32) },
    '{"jsonrpc":"2.0","id":0,"result":{"tools":[]}}\n',
  ],
  [{ type: 'write', op: 30, as: 'json' }, '{"bye":true}'],
  ...Array.from({ length: 40 }, (_, i) => [{ type: 'draw', kind: 'Math.random', value: i / 64 }]),
  [{ type: 'end', exitCode: 0 }],
]

function fill(path) {
  let clock = 0
  // The process that writes the tape would be different each time.
  const options = { now: () => clock++ * 1.25, lock: 'file' }
  const writer = TapeWriter.create(path, run, details, options)
  for (const [event, body] of events) writer.append(event, body && Buffer.from(body))
  return writer
}

/** Writes all golden tapes of the present format into a folder. @param {string} folder */
export function writeGolden(folder) {
  const at = (name) => join(folder, name)
  const [sealed, packed, killed] = ['sealed', 'packed', 'killed'].map((state) =>
    at(`${FORMAT}-${state}.tape`),
  )
  for (const path of [sealed, packed, killed]) rmSync(path, { force: true })
  fill(sealed).seal({ privateKey })
  const { frames, seed } = openLayout(nodePlatform, openFileSource(sealed), sealed)
  writeFileSync(packed, Buffer.concat([...packFrames(nodePlatform, frames, seed)]))
  fill(killed).close()
  appendFileSync(killed, `{"seq":${events.length + 1},"at":81.25,"type":"dra`)
  const text = readFileSync(sealed, 'latin1')
  writeFileSync(at('from-the-future.tape'), text.replace('"format":1', '"format":9999'), 'latin1')
}

/** What a reader must see on a tape. @param {string} path */
export function contentsOf(path) {
  const tape = openOwnTape(path)
  return {
    run: tape.run,
    details: tape.details,
    status: tape.status,
    tornBytes: tape.tornBytes,
    verify: tape.verify(),
    events: Array.from(tape.events(), (event) => ({
      event,
      body: Buffer.from(tape.body(event.seq)).toString('latin1'),
    })),
  }
}

if (process.argv[1] === import.meta.filename) {
  const folder = import.meta.dirname
  writeGolden(folder)
  for (const name of [`${FORMAT}-sealed`, `${FORMAT}-killed`]) {
    const contents = JSON.stringify(contentsOf(join(folder, `${name}.tape`)), undefined, 1)
    writeFileSync(join(folder, `${name}.json`), `${contents}\n`)
  }
}
