/**
 * The recorded program: it handles every value of the corpus as real programs do, checks that it
 * got what it should, and prints how many checks there were. Values are drawn again here, so that
 * nothing but the case itself brings them to the recorder.
 */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFile, mkdir, readFile, writeFile } from 'node:fs/promises'
import http from 'node:http'
import { promisify } from 'node:util'
import Anthropic from '@anthropic-ai/sdk'
import { Redis } from 'ioredis'
import OpenAI from 'openai'
import pg from 'pg'
import { tool } from 'retake'
import { WebSocket } from 'ws'
import {
  answerOf,
  fileOf,
  isFile,
  promptOf,
  requestOf,
  responseOf,
  streamedParts,
} from './carriers.mjs'
import { cases, casesAt, casesUnder, neutralName } from './cases.mjs'
import { lookAlikes, lookAlikesAt } from './look-alikes.mjs'

const run = promisify(execFile)
const url = process.env.CORPUS_URL

let checks = 0
/** @type {string[]} */
const wrong = []
function check({ id }, isRight) {
  checks++
  if (!isRight) wrong.push(id)
}

/** Runs the cases of one location. */
async function each(place, handle) {
  for (const planted of casesAt(place)) await handle(planted)
}

const send = (path, body, headers = {}) =>
  fetch(url + path, {
    method: 'POST',
    body,
    headers: { 'content-type': 'application/json', ...headers },
  })

/** Confirms a part of a streamed answer. */
const next = async ({ number }) => void (await (await fetch(`${url}/next/${number}`)).text())

/** Variables are used under a name that says nothing. */
async function use(planted, value) {
  check(planted, value === planted.text)
  await (await send('/use', JSON.stringify({ item: value }))).text()
}

async function variables() {
  for (const planted of [...casesAt('env-secret-name'), ...casesAt('env-file-secret-name')])
    await use(planted, process.env[planted.name])
  for (const planted of [...casesAt('env-plain-name'), ...casesAt('env-file-plain-name')])
    await use(planted, process.env[neutralName(planted)])
  const lines = (await readFile('.env.local', 'utf8')).split('\n')
  await each('env-file-read', async (planted) => {
    const line = lines.find((one) => one.startsWith(`${planted.name}=`))
    await use(planted, line?.slice(planted.name.length + 1))
  })
  for (const planted of casesUnder('argv-'))
    check(
      planted,
      process.argv.some((argument) => argument.endsWith(planted.text)),
    )
}

/** Starts a program that gets the secret, and does nothing with it. */
const start = async (planted, file, args, options) => {
  const ended = await run(file, args, options).catch(() => {})
  check(planted, ended !== undefined)
  return ended
}

async function children() {
  const option = ({ field }) => `--${field.replaceAll('_', '-')}`
  await each('child-argv-option', (one) => start(one, 'true', ['login', option(one), one.text]))
  await each('child-argv-option-equals', (one) =>
    start(one, 'true', ['login', `${option(one)}=${one.text}`]),
  )
  await each('child-argv-user', (one) => start(one, 'true', ['-u', `app:${one.text}`]))
  await each('child-argv-positional', (one) => start(one, 'true', [one.text]))
  await each('child-argv-shell', (one) =>
    start(one, 'sh', ['-c', `true ${one.by === 'name' ? `${option(one)} ` : ''}'${one.text}'`]),
  )
  await each('child-env', (one) => {
    const name = one.by === 'name' ? one.name : neutralName(one)
    return start(one, 'sh', ['-c', `test -n "$${name}"`], {
      env: { ...process.env, [name]: one.text },
    })
  })
  await each('child-stdin', async (one) => {
    const child = spawn('sh', ['-c', 'cat >/dev/null'], { stdio: ['pipe', 'ignore', 'ignore'] })
    child.stdin.end(one.by === 'name' ? `${one.field}: ${one.text}\n` : `${one.text}\n`)
    const [code] = await once(child, 'close')
    check(one, code === 0)
  })
  for (const place of ['child-stdout', 'child-stderr'])
    await each(place, async (one) => {
      const back = place === 'child-stderr' ? ' >&2' : ''
      const ended = await start(one, 'sh', ['-c', `cat files/${one.number}/output${back}`])
      check(one, [ended?.stdout, ended?.stderr].join('').length > one.text.length)
    })
}

async function files() {
  for (const planted of cases.filter(({ place }) => isFile(place))) {
    const { path, content } = fileOf(planted)
    check(planted, (await readFile(path, 'utf8')) === content)
  }
  await mkdir('out')
  const line = ({ by, field, text }) =>
    by === 'name' ? `user=app\n${field}=${text}\n` : `see ${text}\n`
  await each('file-write', (one) => writeFile(`out/${one.number}`, line(one)))
  await each('file-append', (one) => appendFile(`out/${one.number}`, line(one)))
  await each('file-name', (one) => writeFile(`out/${one.text}`, 'empty'))
}

async function requests() {
  for (const planted of casesUnder('request-')) {
    const { path, auth, ...request } = requestOf(planted)
    if (auth === undefined) {
      check(planted, (await (await fetch(url + path, request)).json()).ok)
      continue
    }
    const sent = http.request(url + path, { auth })
    sent.end()
    const [response] = await once(sent, 'response')
    check(planted, JSON.parse(Buffer.concat(await response.toArray()).toString()).ok)
  }
}

async function answers() {
  for (const planted of casesUnder('response-')) {
    const wanted = responseOf(planted)
    const response = await fetch(`${url}/response/${planted.number}`, { redirect: 'manual' })
    let text = ''
    const decoder = new TextDecoder()
    for await (const part of response.body) {
      text += decoder.decode(part, { stream: true })
      if (planted.encoding === 'split') await next(planted)
    }
    const isGzip = planted.encoding === 'gzip'
    const isRight = isGzip
      ? JSON.parse(text)[planted.field] === planted.text
      : text === wanted.chunks.join('')
    const headers = Object.entries(wanted.headers).every(
      ([name, value]) =>
        isGzip ||
        (Array.isArray(value)
          ? response.headers.getSetCookie().join() === value.join()
          : response.headers.get(name) === value),
    )
    check(planted, isRight && headers)
  }
}

async function models() {
  const openai = new OpenAI({ apiKey: 'local', baseURL: `${url}/v1`, maxRetries: 0 })
  const anthropic = new Anthropic({ apiKey: 'local', baseURL: url, maxRetries: 0 })
  const ask = ({ number }, messages, more = {}) =>
    openai.chat.completions.create(
      { model: 'gpt-5.2', messages, ...more },
      { headers: { 'x-case': `${number}` } },
    )
  const claude = (messages, more = {}) =>
    anthropic.messages.create({ model: 'claude-sonnet-4-5', max_tokens: 256, messages, ...more })
  for (const planted of casesUnder('prompt-')) {
    const { place, name, text } = planted
    if (place === 'prompt-anthropic-system')
      await claude([{ role: 'user', content: 'Log in.' }], {
        system: `You are app. ${name}: ${text}`,
      })
    else if (place === 'prompt-anthropic-blocks')
      await claude([
        {
          role: 'user',
          content: [
            { type: 'text', text: `${name}: ${text}` },
            { type: 'text', text: 'Log in.' },
          ],
        },
      ])
    else await ask(planted, [{ role: 'user', content: promptOf(planted) }])
  }
  const question = [{ role: 'user', content: 'Go on.' }]
  for (const place of ['model-answer', 'model-tool-call'])
    await each(place, async (planted) => {
      const { message } = (await ask(planted, question)).choices[0]
      const wanted = answerOf(planted)
      const input = message.tool_calls?.[0].function.arguments
      check(
        planted,
        message.content === wanted.content && input === wanted.tool_calls?.[0].function.arguments,
      )
    })
  await each('model-answer-stream', async (planted) => {
    let text = ''
    /** @type {any} */
    const parts = await ask(planted, question, { stream: true })
    for await (const part of parts) {
      text += part.choices[0].delta.content
      await next(planted)
    }
    check(planted, text === streamedParts(planted).join(''))
  })
  await each('model-tool-result', async (planted) => {
    const content = JSON.stringify({ user: 'app', [planted.field]: planted.text })
    const call = {
      id: 'call_1',
      type: 'function',
      function: { name: 'read_settings', arguments: '{}' },
    }
    await ask(planted, [
      ...question,
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'tool', tool_call_id: 'call_1', content },
    ])
  })
}

/** What an error says about a failed login. */
const failure = ({ by, field, text }) =>
  by === 'name' ? `login failed: ${field}=${text}` : `cannot use ${text}`

async function tools() {
  const save = tool('save_setting', async () => 'saved')
  const named = ({ field, text }) => ({ user: 'app', [field]: text })
  await each('tool-argument', async (one) => check(one, (await save(named(one))) === 'saved'))
  await each('tool-argument-nested', (one) => save({ accounts: [{ login: named(one) }] }))
  await each('tool-argument-pair', (one) =>
    save({ fields: [{ name: one.field, value: one.text }] }),
  )
  await each('tool-result', async (one) => {
    const read = tool('read_setting', async () => named(one))
    check(one, (await read({ id: one.number }))[one.field] === one.text)
  })
  await each('tool-result-json', async (one) => {
    const read = tool('read_json', async () => JSON.stringify(named(one)))
    check(one, JSON.parse(await read({ id: one.number }))[one.field] === one.text)
  })
  for (const place of ['tool-error', 'tool-error-cause'])
    await each(place, async (one) => {
      const login = tool('login', async () => {
        if (place === 'tool-error') throw new Error(failure(one))
        throw new Error('login failed', { cause: new Error(failure(one)) })
      })
      const error = await login({ id: one.number }).catch((thrown) => thrown)
      check(one, (error.cause ?? error).message === failure(one))
    })
}

async function output() {
  await each('stdout-assignment', ({ name, text }) => console.log(`${name}=${text}`))
  await each('stdout-sentence', ({ by, field, text }) =>
    console.log(by === 'name' ? `logging in with ${field} ${text}` : `logging in with ${text} now`),
  )
  await each('stdout-object', ({ field, text }) => console.log({ user: 'app', [field]: text }))
  await each('stdout-mention', ({ text }) => console.log(`connected through ${text} after 12 ms`))
  await each('stdout-split', ({ text }) => {
    process.stdout.write(`key ${text.slice(0, text.length / 2)}`)
    process.stdout.write(`${text.slice(text.length / 2)}\n`)
  })
  await each('log-json', ({ field, text }) =>
    console.log(
      JSON.stringify({ level: 30, msg: 'login', body: JSON.stringify({ [field]: text }) }),
    ),
  )
  await each('log-logfmt', ({ field, text }) =>
    console.log(`level=info msg=login ${field}=${text} ms=12`),
  )
  await each('log-url', ({ field, text }) =>
    console.log(
      `GET https://shop.example/orders?${field === 'note' ? 'key' : field}=${text}&page=2 200`,
    ),
  )
  await each('log-header', ({ format, text }) =>
    console.log(
      format === 'access-token'
        ? `> Authorization: Bearer ${text}`
        : `> Cookie: session_id=${text}; theme=dark`,
    ),
  )
  await each('stderr-line', ({ by, field, text }) =>
    console.error(by === 'name' ? `${field}: ${text}` : `with ${text}`),
  )
  await each('stderr-stack', (one) => console.error(new Error(failure(one))))
}

async function databases() {
  const [{ text: password }] = casesAt('sql-login')
  const client = new pg.Client({
    host: '127.0.0.1',
    port: Number(process.env.CORPUS_POSTGRES),
    user: 'app',
    database: 'shop',
    password,
  })
  await client.connect()
  const column = ({ field }) => field
  await each('sql-text', (one) =>
    client.query(`INSERT INTO users (name, ${column(one)}) VALUES ('app', '${one.text}')`),
  )
  await each('sql-alter-role', (one) =>
    client.query(`ALTER ROLE app WITH LOGIN PASSWORD '${one.text}'`),
  )
  await each('sql-parameter', (one) =>
    client.query(`INSERT INTO users (name, ${column(one)}) VALUES ($1, $2)`, ['app', one.text]),
  )
  await each('sql-parameter-set', (one) =>
    client.query(`UPDATE users SET ${column(one)} = $1 WHERE id = $2`, [one.text, 7]),
  )
  await each('sql-result', async (one) => {
    const { rows } = await client.query(
      `SELECT ${column(one)} FROM shop_${one.number} WHERE id = $1`,
      [7],
    )
    check(one, rows[0]?.[column(one)] === one.text)
  })
  await client.end()

  const [login] = casesAt('redis-auth')
  const redis = new Redis({
    host: '127.0.0.1',
    port: Number(process.env.CORPUS_REDIS),
    password: login.text,
    enableReadyCheck: false,
    disableClientInfo: true,
  })
  await each('redis-set', (one) => redis.set(`shop:${one.field}`, one.text))
  await each('redis-get', async (one) =>
    check(one, (await redis.get(`shop:${one.number}`)) === one.text),
  )
  redis.disconnect()
}

async function sockets() {
  const socket = new WebSocket(url.replace('http', 'ws'))
  const wanted = casesAt('websocket-received')
  const messages = []
  const arrived = new Promise((resolve) => {
    socket.on('message', (/** @type {Buffer} */ data) => {
      if (messages.push(data.toString()) === wanted.length) resolve()
    })
  })
  await once(socket, 'open')
  await each('websocket-sent', ({ field, text }) =>
    socket.send(JSON.stringify({ type: 'auth', [field]: text })),
  )
  await arrived
  for (const [index, one] of wanted.entries())
    check(one, JSON.parse(messages[index])[one.field] === one.text)
  socket.close()
  await once(socket, 'close')
}

/** Look-alikes take the same ways. */
async function handleLookAlikes() {
  const path = (one) => `/look-alike/${lookAlikes.indexOf(one)}`
  for (const one of lookAlikesAt('prompt'))
    await (
      await send(
        path(one),
        JSON.stringify({ model: 'gpt-5.2', messages: [{ role: 'user', content: one.text }] }),
      )
    ).text()
  for (const one of lookAlikesAt('json')) await (await send(path(one), one.text)).text()
  for (const one of lookAlikesAt('query'))
    await (await fetch(`${url + path(one)}?${one.text}`)).text()
  for (const one of lookAlikesAt('response'))
    check(one, (await (await fetch(url + path(one))).text()) === one.text)
  for (const one of lookAlikesAt('header')) {
    const [name, value] = one.text.split(': ')
    await (await send(path(one), '{}', { [name]: value })).text()
  }
  for (const one of lookAlikesAt('form'))
    await (
      await send(path(one), one.text, { 'content-type': 'application/x-www-form-urlencoded' })
    ).text()
  const note = tool('note', async (given) => given)
  for (const one of lookAlikesAt('tool'))
    check(one, JSON.stringify(await note(JSON.parse(one.text))) === one.text)
  for (const one of lookAlikesAt('variable'))
    check(one, one.text.endsWith(`=${process.env[one.text.split('=')[0]]}`))
  for (const one of lookAlikesAt('argument')) check(one, process.argv.includes(one.text))
  await run(
    'true',
    lookAlikesAt('child').map(({ text }) => text),
  )
  for (const { text } of lookAlikesAt('stdout')) console.log(text)
  await readFile('files/notes.txt', 'utf8')
}

await variables()
await children()
await files()
await requests()
await answers()
await models()
await tools()
await output()
await databases()
await sockets()
await handleLookAlikes()
console.log(`checks: ${checks}, wrong: ${wrong.length} ${wrong.join('; ')}`)
