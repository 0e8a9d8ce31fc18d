/** Records the programs of the corpus, and says which of its values can be read afterwards. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { makeWorkspace, run } from '../support/run-retake.mjs'
import { fileOf, isFile } from './carriers.mjs'
import { cases, casesAt, casesUnder, neutralName } from './cases.mjs'
import { lookAlikeFile, lookAlikes, lookAlikesAt } from './look-alikes.mjs'
import { makeSearch, reportTexts } from './search.mjs'

const here = (name) => fileURLToPath(new URL(name, import.meta.url))

/** Lines of a file for `--env-file`. */
const variable = (name, text) => `${name}='${text}'`

/** @param {string} folder */
function writeFiles(folder) {
  const write = (path, text) => {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
  for (const planted of cases.filter(({ place }) => isFile(place))) {
    const { path, content } = fileOf(planted)
    write(path, content)
  }
  for (const { number, by, field, text, encoding } of [
    ...casesAt('child-stdout'),
    ...casesAt('child-stderr'),
  ]) {
    const line = by === 'name' ? `${field}=${text}` : text
    const printed = encoding === 'base64' ? Buffer.from(line).toString('base64') : line
    write(`files/${number}/output`, `ready\n${printed}\ndone\n`)
  }
  write(
    '.env',
    [
      ...casesAt('env-file-secret-name').map(({ name, text }) => variable(name, text)),
      ...casesAt('env-file-plain-name').map((planted) =>
        variable(neutralName(planted), planted.text),
      ),
    ].join('\n'),
  )
  write(
    '.env.local',
    casesAt('env-file-read')
      .map(({ name, text }) => `${name}=${text}`)
      .join('\n'),
  )
  write('files/notes.txt', lookAlikeFile())
  write('literals.mjs', literals())
}

/** A program with keys in its source, which ends with an error. */
function literals() {
  const quoted = (text) => JSON.stringify(text)
  const lines = [
    `import OpenAI from ${quoted(import.meta.resolve('openai'))}`,
    `import Anthropic from ${quoted(import.meta.resolve('@anthropic-ai/sdk'))}`,
    `import { casesAt } from ${quoted(new URL('cases.mjs', import.meta.url).href)}`,
    'const url = process.env.CORPUS_URL',
    "const messages = [{ role: 'user', content: 'Go on.' }]",
  ]
  for (const { text } of casesAt('source-openai'))
    lines.push(
      `await new OpenAI({ apiKey: ${quoted(text)}, baseURL: url + '/v1' }).chat.completions.create({ model: 'gpt-5.2', messages })`,
    )
  for (const { text } of casesAt('source-anthropic'))
    lines.push(
      `await new Anthropic({ apiKey: ${quoted(text)}, baseURL: url }).messages.create({ model: 'claude-sonnet-4-5', max_tokens: 9, messages })`,
    )
  for (const { format, text } of casesAt('source-header')) {
    const header =
      format === 'access-token' ? ['authorization', `Bearer ${text}`] : ['x-api-key', text]
    lines.push(
      `await fetch(url + '/use', { headers: { ${quoted(header[0])}: ${quoted(header[1])} } })`,
    )
  }
  for (const { field, text } of casesAt('source-json'))
    lines.push(
      `await fetch(url + '/use', { method: 'POST', body: JSON.stringify({ ${field}: ${quoted(text)} }) })`,
    )
  for (const { name, number, by, text } of casesAt('source-assignment'))
    lines.push(
      `const ${by === 'name' ? name : `SETTING_${number}`} = ${quoted(text)}`,
      `await fetch(url + '/use', { method: 'POST', body: 'started' })`,
    )
  lines.push(
    "const [message] = casesAt('uncaught-message')",
    "const [cause] = casesAt('uncaught-cause')",
    "const [field] = casesAt('uncaught-field')",
    'throw Object.assign(new Error(`login failed: password=${message.text}`, { cause: new Error(`cannot reach ${cause.text}`) }), { accessToken: field.text })',
  )
  return `${lines.join('\n')}\n`
}

const option = ({ field }) => `--${field.replaceAll('_', '-')}`

const agentArguments = [
  ...lookAlikesAt('argument').map(({ text }) => text),
  ...casesAt('argv-option').flatMap((one) => [option(one), one.text]),
  ...casesAt('argv-option-equals').map((one) => `${option(one)}=${one.text}`),
  ...casesAt('argv-user').flatMap(({ text }) => ['-u', `app:${text}`]),
  ...casesAt('argv-header').flatMap(({ text }) => ['-H', `Authorization: Bearer ${text}`]),
  ...casesAt('argv-assignment').map(({ name, text }) => `${name}=${text}`),
  ...casesAt('argv-positional').map(({ text }) => text),
]

/** One curl with a transfer for each case. @param {string} url */
function curlArguments(url) {
  const to = (rest = '') => `${url}/curl${rest}`
  const transfers = [
    ...casesAt('curl-user').map(({ text }) => ['-u', `app:${text}`, to()]),
    ...casesAt('curl-header').map(({ format, text }) => [
      '-H',
      format === 'access-token' ? `Authorization: Bearer ${text}` : `X-API-Key: ${text}`,
      to(),
    ]),
    ...casesAt('curl-data').map(({ field, text }) => ['-d', `user=app&${field}=${text}`, to()]),
    ...casesAt('curl-url').map(({ by, text }) => [
      to(by === 'shape' ? `/bot${text}/getMe` : `?api_key=${text}`),
    ]),
    ...casesAt('curl-cookie').map(({ name, text }) => ['-b', `${name}=${text}`, to()]),
    ...casesAt('curl-json').map(({ field, text }) => [
      '--json',
      JSON.stringify({ [field]: text }),
      to(),
    ]),
  ]
  return transfers.flatMap((transfer, index) => [
    ...(index > 0 ? ['--next'] : []),
    '-s',
    ...transfer,
  ])
}

/** What the world must have got from commands and sockets that nobody else checks. */
const seenOutside = [
  ...casesUnder('curl-'),
  ...casesUnder('sql-').filter(({ place }) => place !== 'sql-result'),
  ...casesUnder('redis-').filter(({ place }) => place !== 'redis-get'),
  ...casesAt('websocket-sent'),
  ...casesAt('source-header'),
  ...casesAt('source-json'),
]

/** How each of them comes out of a recorder that changes nothing. */
function isSeen(received, { text, place }) {
  const sent = place === 'curl-user' ? Buffer.from(`app:${text}`).toString('base64') : text
  return received.includes(sent)
}

/** Records everything. @returns How the programs ended, and the tapes. */
async function recordAll(workspace, world) {
  const env = {
    ...world.env,
    ...Object.fromEntries(lookAlikesAt('variable').map(({ text }) => text.split('='))),
    ...Object.fromEntries(casesAt('env-secret-name').map(({ name, text }) => [name, text])),
    ...Object.fromEntries(casesAt('env-plain-name').map((one) => [neutralName(one), one.text])),
  }
  const agent = await workspace.retake(
    [
      'record',
      '--durability',
      'process',
      '--node-arg=--env-file=.env',
      here('agent.mjs'),
      ...agentArguments,
    ],
    { env },
  )
  const source = await workspace.retake(['record', '--durability', 'process', 'literals.mjs'], {
    env: world.env,
  })
  const library = await run(process.execPath, [here('library.mjs')], workspace.folder)
  const curl = await workspace.retake(['record', '--', 'curl', ...curlArguments(world.url)])
  return { agent, source, library, curl }
}

/** Every text that leaves the recorder: files of the run folder, and what commands make of a tape. */
async function textsOf(workspace, tape) {
  const output = (name) => join(workspace.folder, `made-${name}`)
  const finished = await workspace.retakeEach([
    ['show', tape],
    ['show', tape, '--json'],
    ['export', tape, '--jsonl', '--allow-secrets', '-o', output('jsonl')],
    [
      'export',
      tape,
      '--format',
      'otlp-json',
      '--content',
      '--allow-secrets',
      '-o',
      output('otlp-json'),
    ],
    [
      'export',
      tape,
      '--format',
      'otlp-protobuf',
      '--content',
      '--allow-secrets',
      '-o',
      output('otlp'),
    ],
    ['export', tape, '--format', 'chrome', '--allow-secrets', '-o', output('chrome')],
    ['export', tape, '--format', 'har', '--allow-secrets', '-o', output('har')],
    ['report', tape, '--allow-secrets', '--force', '-o', output('html')],
  ])
  const failed = finished.find(({ code }) => code !== 0)
  if (failed !== undefined) throw new Error(`a command failed: ${failed.stderr}`)
  const made = (name) => readFileSync(output(name), 'latin1')
  return {
    tape: [readFileSync(tape, 'latin1')],
    show: finished.slice(0, 2).map(({ stdout }) => stdout),
    jsonl: [readFileSync(output('jsonl'), 'utf8')],
    otlp: [made('otlp-json'), made('otlp')],
    chrome: [made('chrome')],
    har: [made('har')],
    report: reportTexts(made('html')),
  }
}

/** Strings of JSON lines, and what they are made of if they are JSON themselves. */
function* strings(value) {
  if (typeof value === 'string') {
    yield value
    if (/^\s*[[{]/.test(value)) {
      try {
        yield* strings(JSON.parse(value))
      } catch {
        // Text that begins like JSON.
      }
    }
  } else if (value !== null && typeof value === 'object') {
    yield JSON.stringify(value)
    for (const each of Object.values(value)) yield* strings(each)
  }
}

/** How a look-alike is on the tape. */
function recordedForm({ place, text }) {
  if (place !== 'variable' && place !== 'header') return text
  const [name, value] = text.split(place === 'header' ? ': ' : '=')
  return JSON.stringify(place === 'header' ? [name, value] : { name, value })
}

/**
 * @typedef {object} Measured
 * @property {Map<string, string[]>} leaks Where each case that leaks was found, by its id.
 * @property {string[]} changed Ids of look-alikes that are not on the tape as they were.
 * @property {string[]} wrong What programs did differently because they were recorded.
 * @property {number} checks How much of their behavior was compared.
 */

/** @param {Awaited<ReturnType<import('./world.mjs').startWorld>>} world @returns {Promise<Measured>} */
export async function measure(world) {
  const workspace = await makeWorkspace()
  try {
    writeFiles(workspace.folder)
    const { agent, source, library, curl } = await recordAll(workspace, world)
    const wrong = []
    let checks = 0
    for (const { stdout, stderr, code } of [agent, library]) {
      const [, count, misses] = /checks: (\d+), wrong: (.*)/.exec(stdout) ?? []
      if (count === undefined || code !== 0)
        throw new Error(`the program failed: ${stdout}\n${stderr}`)
      checks += Number(count)
      if (!misses.startsWith('0')) wrong.push(misses)
    }
    if (source.code !== 1 || !source.stderr.includes('login failed')) throw new Error(source.stderr)
    if (curl.code !== 0) throw new Error(curl.stderr)
    const received = world.received()
    for (const planted of seenOutside) if (!isSeen(received, planted)) wrong.push(planted.id)
    checks += seenOutside.length

    const search = makeSearch(cases)
    /** @type {Map<string, string[]>} */
    const leaks = new Map()
    const add = (where, texts) => {
      for (const id of new Set(texts.flatMap((text) => [...search(text)])))
        leaks.set(id, [...new Set([...(leaks.get(id) ?? []), where])])
    }
    const state = join(workspace.folder, '.retake')
    /** @type {string[]} */
    const recorded = []
    for (const path of readdirSync(state, { recursive: true, withFileTypes: true })) {
      const file = join(path.parentPath, path.name)
      if (!path.isFile()) continue
      if (!path.name.endsWith('.tape')) {
        add('run folder', [readFileSync(file, 'latin1')])
        continue
      }
      const texts = await textsOf(workspace, file)
      for (const [where, each] of Object.entries(texts)) add(where, each)
      for (const line of texts.jsonl.join('\n').split('\n').filter(Boolean))
        recorded.push(...strings(JSON.parse(line)))
    }
    const all = recorded.join('\n')
    const changed = lookAlikes.filter((one) => !all.includes(recordedForm(one))).map(({ id }) => id)
    return { leaks, changed, wrong, checks }
  } finally {
    await workspace.remove()
  }
}
