import { randomBytes } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { seededRandom } from '@retake/tape/format'
import { openTape } from '@retake/tape/node'
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { natives } from '../kernel/natives.js'
import { record } from '../library/record.js'
import { replay } from '../library/replay.js'
import { rerun } from '../library/run-again.js'
import { tool } from '../library/tool.js'
import { SecretMask } from './secrets.js'
import type { RedactRule } from './redaction-rules.js'
import { Redactor } from './redactor.js'
import { VaultKey } from './vault-key.js'

const EMAIL = 'ann.lee@mail.example.org'
const NAME = 'Zoë Ångström'
const CARD = '5500 0055 5555 5559'
const VALUES = [EMAIL, NAME, CARD]

let origin = ''
let requests: string[] = []
const server = http.createServer((request, response) => {
  let body = ''
  request.setEncoding('utf8').on('data', (chunk: string) => (body += chunk))
  request.on('end', () => {
    requests.push(`${request.url} ${body}`)
    if (request.url === '/stream') {
      response.setHeader('content-type', 'text/event-stream')
      // Cut inside values, as models stream them.
      const said = `I wrote to ${EMAIL} for ${NAME}, card ${CARD}.`.match(/.{1,3}/gu) ?? []
      const send = (): void => {
        const text = said.shift()
        if (text === undefined) return void response.end('data: [DONE]\n\n')
        response.write(`data: ${JSON.stringify({ choices: [{ delta: { content: text } }] })}\n\n`)
        setTimeout(send, 1)
      }
      return send()
    }
    const answer = JSON.stringify({ user: { email: EMAIL, name: NAME }, note: `pays by ${CARD}` })
    if (request.url === '/gzip') {
      const packed = gzipSync(answer)
      response.setHeader('content-encoding', 'gzip').write(packed.subarray(0, 40))
      return void setTimeout(() => response.end(packed.subarray(40)), 20)
    }
    response.setHeader('content-type', 'application/json').end(answer)
  })
})

beforeAll(async () => {
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterAll(() => void server.close())

let folder = ''
beforeEach(() => {
  requests = []
  folder = mkdtempSync(path.join(tmpdir(), 'retake-redaction-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  useKey(randomBytes(32).toString('base64'))
})

function useKey(key: string | undefined): void {
  vi.stubEnv('RETAKE_VAULT_KEY', key)
  vi.stubEnv('XDG_STATE_HOME', path.join(folder, 'state'))
  Object.assign(natives.env, process.env)
  if (key === undefined) delete natives.env['RETAKE_VAULT_KEY']
}

const RULES: RedactRule[] = ['email', 'card', `names:["${NAME}"]`]

/** Uses values as agents do: passes them on, encodes them, takes parts of them, has them in its source. */
async function agent(): Promise<string> {
  const answer = (await (await fetch(`${origin}/user?mail=${EMAIL}`)).json()) as {
    user: { email: string; name: string }
  }
  const { email, name } = answer.user
  const domain = email.split('@')[1]?.length
  const lookup = tool('lookup', (who: string) => ({ who, found: [email, name] }))
  const found = await lookup(`${name} at ${domain}`)
  const reply = await fetch(`${origin}/mail?to=${encodeURIComponent(email)}`, {
    method: 'POST',
    body: JSON.stringify({
      to: EMAIL,
      text: `Dear ${name}`,
      packed: Buffer.from(email).toString('base64'),
      found,
    }),
  })
  const streamed = await (await fetch(`${origin}/stream`, { method: 'POST', body: '{}' })).text()
  const said = [...streamed.matchAll(/"content":"([^"]*)"/g)].map(([, text]) => text).join('')
  await fetch(`${origin}/again`, { method: 'POST', body: JSON.stringify({ said }) })
  return `${domain} ${said} ${(await reply.text()).length}`
}

const get = (url: string): Promise<string> =>
  new Promise((resolve, reject) => {
    http
      .get(url, (response) => {
        const parts: Buffer[] = []
        response.on('data', (part: Buffer) => parts.push(part))
        response.on('end', () => resolve(gunzipSync(Buffer.concat(parts)).toString()))
      })
      .on('error', reject)
  })

const textOf = (file: string): string => readFileSync(file, 'latin1')
/** Parts of a value that would not occur by chance. */
const partsOf = (value: string): string[] =>
  [value, Buffer.from(value).toString('latin1'), encodeURIComponent(value)].flatMap((form) => [
    form,
    form.slice(0, 8),
    form.slice(-8),
  ])

function expectHidden(file: string): void {
  const text = textOf(file)
  const bodies = [...openTape(file).events(1)].map(({ seq }) =>
    Buffer.from(openTape(file).body(seq)).toString('latin1'),
  )
  for (const part of VALUES.flatMap(partsOf)) {
    expect(text).not.toContain(part)
    expect(bodies.join('\n')).not.toContain(part)
  }
  expect(text).not.toContain(Buffer.from(EMAIL).toString('base64'))
}

test('no tape contains the values, and a replay with the key is identical', async () => {
  const { output, run } = await record({ name: 'x', dir: folder, redact: RULES }, agent)
  expectHidden(run.path)
  const sent = requests.length
  expect(await replay(run.path, agent)).toMatchObject({ output, divergences: [] })
  expect(requests).toHaveLength(sent)
})

test('without the key the structure is compared, and the program gets pseudonyms', async () => {
  const { output, run } = await record({ name: 'x', dir: folder, redact: RULES }, agent)
  useKey(undefined)
  const replayed = await replay(run.path, agent)
  expect(replayed.divergences).toEqual([])
  expect(replayed.output).not.toBe(output)
  for (const value of VALUES) expect(replayed.output).not.toContain(value)
  const other = (): Promise<string> => agent().then((text) => `${text}!`)
  await expect(replay(run.path, other)).rejects.toMatchObject({ code: 'REPLAY_DIVERGED' })
})

test('a compressed answer that arrives in pieces is hidden, and restored with the key', async () => {
  const { output, run } = await record({ name: 'x', dir: folder, redact: RULES }, () =>
    get(`${origin}/gzip`),
  )
  expect(output).toContain(EMAIL)
  expectHidden(run.path)
  expect(textOf(run.path)).not.toContain('\x1f\x8b\x08')
  expect(await replay(run.path, () => get(`${origin}/gzip`))).toMatchObject({ output })
})

test('redaction does not change a tape without such values', async () => {
  const { run } = await record({ name: 'x', dir: folder }, agent)
  for (const value of [EMAIL, CARD]) expect(textOf(run.path)).toContain(value)
})

test('content is hidden on request, but types and ids stay', async () => {
  const chat = async (): Promise<string> => {
    const body = JSON.stringify({
      model: 'm-1',
      messages: [{ role: 'user', content: `Refund ${NAME}, please` }],
    })
    const answer = (await (await fetch(`${origin}/chat`, { method: 'POST', body })).json()) as {
      note: string
    }
    const streamed = await (await fetch(`${origin}/stream`, { method: 'POST', body })).text()
    const pay = tool('pay', ({ text }: { text: string; reason: string; ok: boolean }) => {
      throw new Error(`${text} was refused`)
    })
    const failed: unknown = await pay({
      text: answer.note,
      reason: 'ordered twice',
      ok: true,
    }).catch((error: unknown) => error)
    return `${streamed.length} ${String(failed)}`
  }
  const said = ['Refund', 'please', 'ordered twice', 'was refused', 'I wrote', NAME, EMAIL]
  const options = { name: 'x', dir: folder, redact: ['content', 'email', `names:["${NAME}"]`] }
  const { output, run } = await record(options, chat)
  const tape = openTape(run.path)
  const all = [...tape.events(1)]
    .filter((event) => event.type !== 'note')
    .map((event) => JSON.stringify(event) + Buffer.from(tape.body(event.seq)).toString())
    .join('\n')
  for (const text of said) expect(all).not.toContain(text)
  for (const kept of ['"model":"m-1"', '"role":"user"', '"delta"', '"ok":true'])
    expect(all).toContain(kept)
  expect(await replay(run.path, chat)).toMatchObject({ output, divergences: [] })
  useKey(undefined)
  expect(await replay(run.path, chat)).toMatchObject({ divergences: [] })
})

test.each([
  [
    'throws',
    () => {
      throw new Error('broken rule')
    },
    'threw Error',
  ],
  [
    'never ends',
    () => {
      for (;;);
    },
    'took longer than half a second',
  ],
  ['backtracks for ever', /^(\w+\s?)+$/, 'took longer than half a second'],
  ['returns something else', (() => [7]) as never, 'threw TypeError'],
] satisfies [string, RedactRule, string][])(
  'a rule that %s hides the text and loses nothing',
  async (_, rule, how) => {
    const said: string[] = []
    const write = vi.spyOn(natives, 'stderrWrite').mockImplementation((bytes) => {
      said.push(String(bytes))
      return true
    })
    onTestFinished(() => write.mockRestore())
    const secret = 'the quick brown customer jumps over the lazy dog again and again!'
    const say = async (): Promise<string> => {
      const reply = await fetch(`${origin}/say`, {
        method: 'POST',
        body: secret,
      })
      return secret + (await reply.text()).length
    }
    const start = performance.now()
    const { output, run } = await record({ name: 'x', dir: folder, redact: [rule] }, say)
    expect(performance.now() - start).toBeLessThan(5000)
    for (const word of ['customer', 'quick']) expect(textOf(run.path)).not.toContain(word)
    expect(said.join('')).toMatch(new RegExp(`${how}\\. .*hidden completely.*--restore`, 's'))
    expect(said).toHaveLength(1)
    expect(await replay(run.path, say)).toMatchObject({ output, divergences: [] })
  },
)

test('a branch hides the same values as its parent, and needs the key', async () => {
  const own = path.join(folder, 'rule.mjs')
  writeFileSync(own, 'export default (text) => text.match(/ORD-\\d+/g) ?? []')
  const order = 'ORD-20261117'
  const run = (last: string) => async (): Promise<string> => {
    const first = await (await fetch(`${origin}/user`, { method: 'POST', body: order })).text()
    const reply = await fetch(`${origin}/${last}`, { method: 'POST', body: first + order })
    return reply.text()
  }
  const redact = [...RULES, `module:${own}`]
  const parent = await record({ name: 'x', dir: folder, redact }, run('send'))
  expect(textOf(parent.run.path)).not.toContain(order)
  requests = []
  const branch = await rerun(parent.run.path, run('other'))
  expect(requests).toEqual([expect.stringContaining(order)])
  expect(requests[0]).toContain(EMAIL)
  expect(textOf(branch.run.path)).not.toContain(order)
  expectHidden(branch.run.path)
  useKey(undefined)
  await expect(rerun(parent.run.path, run('other'))).rejects.toMatchObject({
    code: 'REDACTION_NOT_RESTORABLE',
  })
})

test("another user's key is refused and opens nothing", async () => {
  const { run } = await record({ name: 'x', dir: folder, redact: RULES }, agent)
  useKey(randomBytes(32).toString('base64'))
  await expect(replay(run.path, agent)).rejects.toMatchObject({ code: 'VAULT_KEY_WRONG' })
})

test('a run hides a value that an earlier run of the process recorded openly', async () => {
  const talk = (): Promise<string> => tool('say', (text: string) => text)(`Write to ${EMAIL}.`)
  const open = await record({ name: 'open', dir: folder }, talk)
  const hidden = await record({ name: 'hidden', dir: folder, redact: ['email'] }, talk)
  expect(readFileSync(open.run.path, 'latin1')).toContain(EMAIL)
  expect(readFileSync(hidden.run.path, 'latin1')).not.toContain(EMAIL)
})

const IBAN = 'DE89 3704 0044 0532 0130 00'
const DOUBLE = 'MARIA DEL CARMEN RUIZ-PÉREZ'
const LISTED = [NAME, 'Zoë', 'Maria', 'Maria del Carmen Ruiz-Pérez']
const ADDRESS = '203.0.113.77'
const SAID = `Dear ${NAME}, we wrote to ${EMAIL} about ${IBAN}, ${DOUBLE} at ${ADDRESS}. And card ${CARD}.`
const PARTS = new RegExp([NAME, EMAIL, IBAN, DOUBLE, ADDRESS, CARD].join('|'), 'g')
const key = VaultKey.read('5'.repeat(64), 'test')
const asText = (text: string): string => text
const asEvent = (content: string, index = 0): string =>
  `data: ${JSON.stringify({ choices: [{ index, delta: { content } }] })}\n\n`
const asLine = (text: string): string => `${JSON.stringify({ message: { content: text } })}\n`
const asEscaped = (text: string): string =>
  asEvent(text).replaceAll(
    /[\x80-\uffff]/g,
    (found) => String.raw`\u00${found.charCodeAt(0).toString(16)}`,
  )
const asTwoTexts = (text: string): string => asEvent(text) + asEvent('Hello there. ', 1)

test.each([
  { form: 'a text', write: asText },
  { form: 'events of a model', write: asEvent },
  { form: 'escaped events', write: asEscaped },
  { form: 'two interleaved texts', write: asTwoTexts },
  { form: 'lines of JSON', write: asLine },
])('no cut of a stream of $form leaves a part of a value on the tape', ({ write }) => {
  const random = seededRandom(1)
  const some = (most: number): number => 1 + Math.floor(random() * most)
  const isValue = Array.from(SAID, () => false)
  for (const { 0: value, index } of SAID.matchAll(PARTS))
    isValue.fill(true, index, index + value.length)
  for (let round = 0; round < 12; round++) {
    // Each character of a value, with its position in the stream.
    const values: [at: number, character: string][] = []
    let sent = ''
    for (let at = 0, to = 0; at < SAID.length; at = to) {
      to = Math.min(SAID.length, at + some(9))
      const event = write(SAID.slice(at, to))
      let from = Buffer.byteLength(sent) + Math.max(0, event.search(/(?<="content":")/))
      for (const [index, character] of Array.from(SAID.slice(at, to)).entries()) {
        const written = write === asEscaped && character > '\x7f' ? '\\u00e9' : character
        if (isValue[at + index] === true) values.push([from, character])
        from += Buffer.byteLength(written)
      }
      sent += event
    }
    const rules = ['email', 'card', 'iban', 'ip', `names:${JSON.stringify(LISTED)}`]
    const mask = new SecretMask(new Redactor(rules, key))
    const event = round % 2 === 0 ? CHUNK : PRINTED
    const bytes = Buffer.from(sent)
    const pieces: Uint8Array[] = []
    for (let at = 0, to = 0; at < bytes.length; at = to) {
      to = Math.min(bytes.length, at + some(round < 6 ? 16 : 160))
      pieces.push(mask.body(event, bytes.subarray(at, to)))
    }
    const stored = Buffer.concat(pieces)
    expect(stored).toHaveLength(bytes.length)
    // A pseudonym may have a few characters of the value.
    const open = values.map(([at, character]) =>
      /[\w]/.test(character) && !/[x1]/.test(character) && stored[at] === character.charCodeAt(0)
        ? character
        : ' ',
    )
    expect(open.join('')).not.toMatch(/\w{4}/)
  }
})
const CHUNK = { type: 'deliver', op: 1, part: 'chunk' } as const
const PRINTED = { type: 'output', stream: 'stdout' } as const

test('a value spread over messages of a WebSocket is hidden, and the frames stay', () => {
  const messages = ['Dear Zo', 'ë Ångs', 'tröm, hello'].map((delta) => {
    const json = Buffer.from(JSON.stringify({ type: 'response.text.delta', delta }))
    return Buffer.concat([Buffer.from([0x81, json.length]), json])
  })
  const head = Buffer.from('HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\n\r\n')
  for (const chunks of [messages, [Buffer.concat(messages.slice(0, 2)), ...messages.slice(2)]]) {
    const mask = new SecretMask(new Redactor([`names:["${NAME}"]`], key))
    const stored = Buffer.concat([head, ...chunks].map((chunk) => mask.body(CHUNK, chunk)))
    expect(stored.toString('utf8', head.length)).not.toMatch(/Zo|ng|tr.?.m/)
    let at = head.length
    for (const { length } of messages) {
      expect([...stored.subarray(at, at + 2)]).toEqual([0x81, length - 2])
      expect(stored.toString('utf8', at + 2, at + length)).toMatch(/^\{"type":"resp.*"\}$/)
      at += length
    }
    expect(stored.toString()).toMatch(/Dear .* hello/s)
  }
})

test('the end of a chunk is checked quickly against ten thousand names', () => {
  const letters = 'abcdefghijklmnopqrstuvwxyz'
  const random = seededRandom(2)
  const word = (): string =>
    `N${Array.from({ length: 7 }, () => letters[Math.floor(random() * 26)]).join('')}`
  const listed = Array.from({ length: 10_000 }, () => `${word()} ${word()}`)
  const redactor = new Redactor([`names:${JSON.stringify(listed)}`], key)
  const text = `${'No one is listed here. '.repeat(20)}${listed[77]?.slice(0, 11)}`
  const start = performance.now()
  for (let round = 0; round < 100; round++)
    expect(redactor.unfinishedFrom(text)).toBe(text.length - 11)
  expect(performance.now() - start).toBeLessThan(500)
})

test('at most seven characters of a known secret remain if chunks cut the events', () => {
  const secret = 'Zq7Lw2Rt9Ks4Vb6Nm3Wc8Pd5'
  const sent = (secret.match(/.{1,5}/g) ?? []).map((part) => asEvent(part)).join('')
  for (let size = 3; size < 90; size++) {
    const mask = new SecretMask()
    mask.add('A', secret)
    const chunks = sent.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? []
    const stored = Buffer.concat(chunks.map((chunk) => mask.body(CHUNK, Buffer.from(chunk))))
    const said = Array.from(stored.toString().matchAll(/"content":"([^"]*)"/g), ([, text]) => text)
    expect(said.join('')).toHaveLength(secret.length)
    expect(said.join('')).not.toMatch(/9Ks|s4V|Vb6|Nm3|8Pd/)
  }
})
