import { createHash } from 'node:crypto'
import { gunzipSync } from 'node:zlib'

/**
 * Secrets that a test plants, each in one place and one encoding. They are computed, so that no
 * file contains them, and agent, server and test come to the same ones.
 *
 * @typedef {{ id: number, kind: 'variable' | 'key' | 'named', place: string, encoding: string, value: string, text: string }} Planted
 */

export const PLACES = [
  'request body',
  'request header',
  'query',
  'gzip request',
  'response',
  'gzip response',
  'cut response',
  'model stream',
  'tool argument',
  'tool result',
  'stdout',
  'stderr',
  'file read',
  'file written',
  'socket answer',
  'child argument',
  'child output',
  'child input',
  'error message',
]

const base64 = (text) => Buffer.from(text).toString('base64')
const hex = (text) => Buffer.from(text).toString('hex')

const ENCODINGS = {
  plain: (text) => `(${text})`,
  json: (text) => JSON.stringify({ arguments: JSON.stringify({ a: text }) }),
  url: (text) => `x=${encodeURIComponent(text)}&y`,
  hex: (text) => hex(`(${text})`),
  'upper hex': (text) => hex(text).toUpperCase(),
  'base64 0': (text) => base64(text),
  'base64 1': (text) => base64(`:${text};`),
  'base64 2': (text) => base64(`u:${text}`),
  base64url: (text) => Buffer.from(`>?>${text}>?>`).toString('base64url'),
}
const NAMED = {
  member: (value) => `{"session_token": "${value}"}`,
  parameter: (value) => `a=1&client_secret=${value}&b=2`,
  assignment: (value) => `export API_KEY=${value}`,
  'json in json': (value) => JSON.stringify({ arguments: JSON.stringify({ password: value }) }),
}

/** Digits and both cases in every twenty characters. */
const random = (name) =>
  createHash('sha256')
    .update(`planted ${name}`)
    .digest('hex')
    .replaceAll(/[a-f]/g, (letter, at) => (at % 2 ? letter.toUpperCase() : letter))
    .replaceAll(/../g, (pair, at) => (at % 4 ? pair : `${pair[0]}${'gHjKmNpQ'[at % 8]}`))
    .slice(0, 28)
    .concat('aB3d')

/** `env`: has the values of variables, or placeholders for them. @param {Readonly<Record<string, string | undefined>>} [env] @returns {Planted[]} */
export function plantedSecrets(env = {}) {
  const planted = []
  const add = (kind, place, encoding, value, text) =>
    planted.push({ id: planted.length, kind, place, encoding, value, text })
  for (const place of PLACES) {
    for (const [encoding, encode] of Object.entries(ENCODINGS)) {
      const marks = encoding === 'json' || encoding === 'url' ? '&"/+' : ''
      const made = `${random(`v ${place} ${encoding}`)}${marks}`
      const value = env[`PLANTED_${planted.length}_SECRET`] ?? made
      add('variable', place, encoding, value, encode(value))
      const key = `${encoding === 'hex' ? 'ghp_' : 'sk-'}${random(`k ${place} ${encoding}`)}abcd`
      add('key', place, encoding, key, encode(key))
    }
    for (const [encoding, encode] of Object.entries(NAMED)) {
      const value = random(`n ${place} ${encoding}`)
      add('named', place, encoding, value, encode(value))
    }
  }
  return planted
}

export const variablesOf = (planted) =>
  Object.fromEntries(
    planted
      .filter(({ kind }) => kind === 'variable')
      .map(({ id, value }) => [`PLANTED_${id}_SECRET`, value]),
  )

/** Those whose values can be read somewhere, encoded or compressed. @param {readonly Buffer[]} contents @param {readonly Planted[]} planted */
export function secretsFoundIn(contents, planted) {
  const texts = contents.flatMap((bytes) => [bytes.toString('latin1'), ...unpacked(bytes)])
  const all = texts.join('\n')
  return planted.filter(({ value }) => {
    const forms = formsOf(value)
    return forms.some((form) => all.includes(form))
  })
}

const forms = new Map()
function formsOf(value) {
  const known = forms.get(value)
  if (known !== undefined) return known
  // A part of it is enough.
  const part = value.replace(/^(?:ghp_|sk-)/, '').slice(8, 24)
  const inner = (before) => {
    const text = base64('\0'.repeat(before) + part)
    return text.slice(Math.ceil((before * 8) / 6), Math.floor(((before + part.length) * 8) / 6))
  }
  const made = [part, hex(part), hex(part).toUpperCase(), inner(0), inner(1), inner(2)]
  forms.set(value, made)
  return made
}

function unpacked(bytes) {
  const texts = []
  const magic = Buffer.from([0x1f, 0x8b, 0x08])
  for (let at = bytes.indexOf(magic); at >= 0; at = bytes.indexOf(magic, at + 1)) {
    try {
      texts.push(gunzipSync(bytes.subarray(at)).toString('latin1'))
    } catch {
      // It only looks like gzip.
    }
  }
  return texts
}
