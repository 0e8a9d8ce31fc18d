/** Changes to tapes that a stranger could make. All randomness comes from `random`. */
import { deflateRawSync, inflateRawSync } from 'node:zlib'
import { encodeIndex, INDEX_EVERY } from '../../packages/tape/dist/format/index-footer.js'
import { nodePlatform } from '@retake/tape/node'

const NUMBERS = [-1, -0.5, 0.5, 1.5, 0, 1, 2, 1e9, 2 ** 31, 2 ** 32, 2 ** 53, 1e21, 1e308, -1e308]
const TEXTS = [
  '',
  '..',
  '../../outside',
  '/tmp/../outside',
  'a/b',
  'NaN',
  'Infinity',
  '-1',
  '__proto__',
  'constructor',
  'toString',
  '\u0000',
  '\u001b[2J\u009b1m\u202e',
  '\ud800',
  '\r\n\t',
  'x'.repeat(10_000),
  'http://[',
  'http://a:99999999/',
  '<script>alert(1)</script>',
  '%',
  '%00',
]
const OTHERS = [
  null,
  true,
  false,
  [],
  {},
  [[]],
  [null],
  [{}],
  { $: 'Date', v: 'x' },
  { $: 'Map', v: 3 },
]
const TAGS = [
  'undefined',
  'number',
  'bigint',
  'symbol',
  'object',
  'Error',
  'Date',
  'RegExp',
  'URL',
  'Map',
  'Set',
  'Buffer',
  'Float64Array',
  'nothing',
  'described',
]

/** Below and above the limits for values, for records and for the tree of the viewer. */
export const LEVELS = [50, 600, 1000, 1030, 2000, 2060, 3000, 9000, 20_000]

const deep = (random, levels = random.pick(LEVELS)) => {
  return random.chance(0.5)
    ? `${'['.repeat(levels)}${']'.repeat(levels)}`
    : `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`
}

/** JSON text that stands for itself, so that it may repeat keys or be deep. */
class Raw {
  text = ''
}

const raw = (text) => Object.assign(new Raw(), { text })

function stringify(value) {
  if (value instanceof Raw) return value.text
  if (Array.isArray(value)) return `[${value.map(stringify).join(',')}]`
  if (typeof value === 'object' && value !== null)
    return `{${Object.entries(value)
      .filter(([, each]) => each !== undefined)
      .map(([key, each]) => `${JSON.stringify(key)}:${stringify(each)}`)
      .join(',')}}`
  return typeof value === 'number' && !Number.isFinite(value)
    ? '1e999'
    : (JSON.stringify(value) ?? 'null')
}

const ADDED = ['same', 'base', 'parts', 'op', 'from', 'within', 'error', 'guard', '__proto__', 'x']

const isParent = (value) => typeof value === 'object' && value !== null && !(value instanceof Raw)

const LEVELS_MAX = 60

/** All places in a value: the object or list, and the key. */
function placesOf(value, found = [], level = 0) {
  if (!isParent(value) || level > LEVELS_MAX) return found
  for (const key of Object.keys(value)) {
    found.push([value, key])
    placesOf(value[key], found, level + 1)
  }
  return found
}

/** A copy: a later change of the value must not change the next cases. */
const pickOther = (random, list) => structuredClone(random.pick(list))

function otherValue(random, old) {
  const roll = random.next()
  // Most often of the same type, which a check of types alone does not see.
  if (roll < 0.5 && typeof old === 'number')
    return random.chance(0.2) ? Infinity : random.pick(NUMBERS)
  if (roll < 0.3 && typeof old === 'number') return old + random.between(-3, 3)
  if (roll < 0.5 && typeof old === 'string') return random.pick(TEXTS)
  if (roll < 0.6 && typeof old === 'string') {
    const at = random.between(0, old.length)
    return old.slice(0, at) + random.pick(TEXTS) + old.slice(at + 1)
  }
  if (roll < 0.6 && typeof old === 'boolean') return !old
  if (roll < 0.63) return raw(deep(random))
  if (roll < 0.66)
    return { $: random.pick(TAGS), v: pickOther(random, [...NUMBERS, ...TEXTS, ...OTHERS]) }
  if (roll < 0.7) return [old, old]
  if (roll < 0.73) return { a: old }
  return pickOther(random, random.pick([NUMBERS, TEXTS, OTHERS]))
}

/** More levels than the functions here can walk through. */
function isDeep(text) {
  let depth = 0
  for (const character of text) {
    if (character === '[' || character === '{') depth++
    else if (character === ']' || character === '}') depth--
    if (depth > LEVELS_MAX) return true
  }
  return false
}

/** Changes a JSON text in one to three places; other text is changed as text. */
export function mutateJson(random, text) {
  let root
  // It was made deep before, or too long to change it again and again.
  if (text.length > 50_000 || isDeep(text)) return mutateText(random, text)
  try {
    root = { root: JSON.parse(text) }
  } catch {
    return mutateText(random, text)
  }
  for (let left = random.between(1, 3); left > 0; left--) {
    const places = placesOf(root)
    if (places.length === 0) break
    const [parent, key] = random.pick(places)
    const roll = random.next()
    if (roll < 0.65) parent[key] = otherValue(random, parent[key])
    else if (roll < 0.75 && Array.isArray(parent)) parent.splice(Number(key), 1)
    else if (roll < 0.75 && parent !== root) delete parent[key]
    else if (roll < 0.8 && Array.isArray(parent))
      parent.push(...parent.slice(0, random.between(0, 20)))
    else if (roll < 0.85 && parent !== root && !Array.isArray(parent)) {
      // Twice the same key: JSON.parse takes the last one, a scan may take the first.
      const value = stringify(parent[key])
      const other = stringify(otherValue(random, parent[key]))
      parent[key] = raw(`${value},${JSON.stringify(key)}:${other}`)
    } else if (roll < 0.9 && parent !== root && !Array.isArray(parent)) {
      const entries = Object.entries(parent).toReversed()
      for (const name of Object.keys(parent)) delete parent[name]
      for (const [name, value] of entries) parent[name] = value
    } else if (!Array.isArray(parent) && parent !== root) {
      const value = otherValue(random, random.pick(NUMBERS))
      // `__proto__` as a key of its own.
      const options = { value, enumerable: true, configurable: true, writable: true }
      Object.defineProperty(parent, random.pick(ADDED), options)
    }
  }
  try {
    return stringify(root.root)
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    return mutateText(random, text)
  }
}

/** Changes a text: JSON in its lines, or characters. */
export function mutateText(random, text) {
  const lines = text.split('\n')
  const at = random.between(0, lines.length - 1)
  const [, lead = '', json = ''] = /^([^[{]{0,30})([[{].*)$/s.exec(lines[at]) ?? []
  const isJson = json !== '' && json.length < text.length && random.chance(0.8)
  if (isJson) {
    try {
      JSON.parse(json)
      lines[at] = lead + mutateJson(random, json)
      return lines.join('\n')
    } catch {
      // It is changed as text.
    }
  }
  const cut = random.between(0, text.length)
  return random.pick([
    text.slice(0, cut),
    text.slice(cut),
    text.slice(0, cut) + random.pick(TEXTS) + text.slice(cut),
    text + text,
    '',
  ])
}

export function mutateBytes(random, bytes) {
  const copy = Buffer.from(bytes)
  if (copy.length === 0) return random.bytes(random.between(0, 40))
  const roll = random.next()
  if (roll < 0.5) {
    for (let left = random.between(1, 4); left > 0; left--)
      copy[random.between(0, copy.length - 1)] ^= 1 << random.between(0, 7)
    return copy
  }
  const at = random.between(0, copy.length)
  if (roll < 0.75) return copy.subarray(0, at)
  if (roll < 0.9) return Buffer.concat([copy.subarray(0, at), random.bytes(9), copy.subarray(at)])
  return Buffer.concat([copy.subarray(0, at), copy.subarray(random.between(at, copy.length))])
}

function mutateBody(random, body) {
  if (random.chance(0.3)) return mutateBytes(random, body)
  return Buffer.from(mutateJson(random, body.toString('utf8')))
}

/** Repeats, removes or exchanges a record. */
function disturb(random, list) {
  const at = random.between(1, list.length - 1)
  const other = random.between(1, list.length - 1)
  const roll = random.next()
  if (roll < 0.3) list.splice(at, 1)
  else if (roll < 0.6) list.splice(other, 0, list[at])
  else [list[at], list[other]] = [list[other], list[at]]
}

/** More levels of a record are damage, which would hide the rest of the tape. */
const RECORD_LEVELS_MAX = 2048

/** Records that each contain values of this many levels, where a tape may contain any value. */
export function deepScript(random, drafts, levels) {
  const value = (around = 0) => raw(deep(random, Math.min(levels, RECORD_LEVELS_MAX - around)))
  return drafts.map((draft, index) => {
    if (index === 0) {
      const details = { ...JSON.parse(draft.body), input: value(2) }
      return { ...draft, body: Buffer.from(stringify(details)) }
    }
    const { value: old, error } = draft.event
    if (old !== undefined || error !== undefined) {
      const { type, ...rest } = draft.event
      const deepFields = {
        ...(old !== undefined && { value: value(2) }),
        ...(error !== undefined && { error: { ...error, props: { a: value(5) } } }),
      }
      return { ...draft, json: stringify({ type, ...rest, ...deepFields }) }
    }
    const text = draft.body.toString('utf8')
    const [, lead = '', json = ''] = /^((?:data: )?)([[{].*?)\n*$/s.exec(text) ?? []
    if (json === '' || json.includes('\n')) return draft
    try {
      const root = { root: JSON.parse(json) }
      const places = placesOf(root)
      const [parent, key] = random.pick(places.length > 1 ? places.slice(1) : places)
      parent[key] = raw(deep(random, levels))
      return { ...draft, body: Buffer.from(`${lead}${stringify(root.root)}\n\n`) }
    } catch {
      return draft
    }
  })
}

const howMany = (random, list) => Math.min(list.length, random.pick([1, 1, 2, 4, 8, 16, 32, 32]))

/** Records before they are encoded: the result has the right checksums, chain and seal. */
export function mutateScript(random, drafts) {
  const copy = drafts.map((draft) => ({ ...draft }))
  const count = howMany(random, copy)
  for (let left = count; left > 0; left--) {
    const at = random.between(0, copy.length - 1)
    const draft = copy[at]
    const roll = random.next()
    if (roll < 0.1 && copy.length > 3) disturb(random, copy)
    else if (roll < 0.65 && draft.body.length > 0) draft.body = mutateBody(random, draft.body)
    else if (roll < 0.67) draft.at = random.pick([-1, NaN, 1e308, 1e16, 0])
    else {
      const { type, ...rest } = draft.event
      const json = mutateJson(random, draft.json ?? JSON.stringify({ type, ...rest }))
      // The encoder adds the number and the time to an object.
      if (json.startsWith('{')) draft.json = json
    }
  }
  return { drafts: copy, count }
}

/** Takes the records off an unpacked tape, with the seal but without the index. */
export function recordsOf(file) {
  const records = []
  for (let at = 0; at < file.length;) {
    const end = file.indexOf(10, at)
    if (end < 0) break
    const [text = '', envelopeText = '{}'] = file.toString('utf8', at, end).split('\t')
    if (!text.startsWith('{"seq":')) break
    const { crc: _, ...envelope } = JSON.parse(envelopeText)
    const stored = file.subarray(end + 1, end + 1 + (envelope.stored ?? 0))
    records.push({ text, envelope: JSON.stringify(envelope), stored })
    at = end + 1 + (stored.length > 0 ? stored.length + 1 : 0)
  }
  return records
}

const crcOf = (line) => Number.parseInt(/([0-9a-f]{8})"\}\n/.exec(line)?.[1] ?? '0', 16)

/** Writes a record whose envelope is any text, with the right checksums. */
function encodeRaw(seed, { text, envelope, stored }) {
  const hex = (crc) => crc.toString(16).padStart(8, '0')
  const open = envelope.replace(/\}$/, envelope === '{}' ? '' : ',')
  const own = stored.length > 0 ? hex(nodePlatform.crc32(stored, seed)) : ''
  const start = Buffer.from(`${text}\t${open}"crc":"${own}`)
  const end = Buffer.from(`${hex(nodePlatform.crc32(start, seed))}"}\n`)
  return Buffer.concat([start, end, ...(stored.length > 0 ? [stored, Buffer.from('\n')] : [])])
}

/** Records with any envelope. `index`: also a right index after a seal. */
export function encodeRecords(records, { withIndex }) {
  const pieces = []
  const offsets = []
  let seed = 0
  let offset = 0
  for (const record of records) {
    const bytes = encodeRaw(seed, record)
    if (pieces.length === 0) seed = crcOf(bytes.toString('latin1'))
    offsets.push(offset)
    offset += bytes.length
    pieces.push(bytes)
  }
  if (withIndex) {
    const every = offsets.filter((_, seq) => seq % INDEX_EVERY === 0)
    const index = { count: records.length, seal: offsets.at(-1) ?? 0, offsets: every }
    pieces.push(encodeIndex(nodePlatform, seed, index))
  }
  return Buffer.concat(pieces)
}

export function mutateRecords(random, file) {
  const records = recordsOf(file)
  if (records.length < 3) return { bytes: mutateBytes(random, file), count: 1 }
  const count = howMany(random, records)
  for (let left = count; left > 0; left--) {
    const at = random.between(0, records.length - 1)
    const record = records[at]
    const roll = random.next()
    if (roll < 0.55) {
      const added = random.pick([
        '"same":-1',
        `"same":${random.pick([0, at, at - 1, at + 1, 0.5])}`,
        '"parts":[0.5,0,1]',
        `"parts":[${at - 1},0,${random.pick([1, 5, -1, 1e9])}]`,
        `"parts":[${Array.from({ length: random.pick([3, 300]) }, () => random.pick([...NUMBERS, at - 1])).join(',')}]`,
        `"base":${at - 1},"ops":[${random.pick(['0,1', '-1', '0', '1e999', '-1,-1,0,3'])}]`,
        `"size":${random.pick([0, 1, 100, 1e6, 3e8, 1e12, -1])}`,
        '"deflate":1',
      ])
      const { envelope } = record
      records[at] = {
        ...record,
        envelope: random.chance(0.5)
          ? mutateJson(random, envelope)
          : envelope.replace(/\}$/, `${envelope === '{}' ? '' : ','}${added}}`),
        ...(random.chance(0.3) && { stored: Buffer.alloc(0) }),
      }
      if (!records[at].envelope.endsWith('}')) records[at].envelope = envelope
    } else if (roll < 0.85) {
      const text = mutateJson(random, record.text).replaceAll(/[\n\t]/g, ' ')
      records[at] = {
        ...record,
        text: random.chance(0.7) ? text.replace(/"seq":[^,]*/, `"seq":${at}`) : text,
      }
    } else if (roll < 0.9) disturb(random, records)
    else if (record.stored.length > 0 && !isDeep(record.envelope)) {
      // Longer than it says, as a bomb is.
      const bomb = deflateRawSync(Buffer.alloc(random.pick([10, 1e5, 2e7])))
      const stored = random.chance(0.3) ? bomb : mutateBytes(random, record.stored)
      // The last of two keys counts.
      const keys = `"stored":${stored.length}${stored === bomb ? ',"deflate":1' : ''}`
      records[at] = { ...record, stored, envelope: record.envelope.replace(/"stored":\d+/, keys) }
    }
  }
  return { bytes: encodeRecords(records, { withIndex: random.chance(0.5) }), count }
}

/** A packed tape with changed lines in its blocks, or other numbers about them. */
export function mutatePacked(random, file) {
  const pieces = []
  const blocks = []
  let seed = 0
  let at = 0
  let count = 0
  let offset = 0
  let events = 1
  let seal = 0
  while (at < file.length) {
    const end = file.indexOf(10, at)
    const line = file.toString('utf8', at, end)
    const [head = '', tail = '{}'] = line.split('\t')
    if (head.startsWith('{"index"')) break
    const { stored: length = 0, size, crc: _, ...rest } = JSON.parse(tail)
    const stored = file.subarray(end + 1, end + 1 + length)
    at = end + 1 + (length > 0 ? length + 1 : 0)
    let bytes
    if (head.startsWith('{"pack"')) {
      const { pack } = JSON.parse(head)
      const content = inflateRawSync(stored)
      const lines = content.toString('utf8', 0, pack.lines).split('\n').slice(0, -1)
      for (let left = howMany(random, lines); left > 0; left--) {
        count++
        const which = random.between(0, lines.length - 1)
        const [event, envelope = '{}'] = lines[which].split('\t')
        const roll = random.next()
        if (roll < 0.4)
          lines[which] = `${mutateJson(random, event).replaceAll(/[\n\t]/g, ' ')}\t${envelope}`
        else if (roll < 0.8)
          lines[which] = `${event}\t${mutateJson(random, envelope).replaceAll(/[\n\t]/g, ' ')}`
        else if (roll < 0.9) lines[which] = mutateText(random, lines[which])
      }
      const changed = Buffer.from(lines.map((each) => `${each}\n`).join(''))
      const whole = Buffer.concat([changed, content.subarray(pack.lines)])
      const right = JSON.stringify({ ...pack, lines: changed.length })
      const numbers = random.chance(0.2) ? mutateJson(random, right) : right
      const deflated = deflateRawSync(whole)
      const claimed = random.chance(0.1) ? random.pick([0, 1, 1e6, 1e9, 1e12]) : whole.length
      blocks.push([pack.from, offset])
      events += pack.count
      const envelope = JSON.stringify({ stored: deflated.length, size: claimed })
      bytes = encodeRaw(seed, { text: `{"pack":${numbers}}`, envelope, stored: deflated })
    } else {
      const envelope = {
        ...(length > 0 && { stored: length }),
        ...(size !== undefined && { size }),
        ...rest,
      }
      bytes = encodeRaw(pieces.length === 0 ? 0 : seed, {
        text: head,
        envelope: JSON.stringify(envelope),
        stored,
      })
      if (pieces.length === 0) seed = crcOf(bytes.toString('latin1'))
      else {
        seal = offset
        events += 1
      }
    }
    offset += bytes.length
    pieces.push(bytes)
  }
  const index = { count: events, seal, blocks }
  const text = random.chance(0.2)
    ? mutateJson(random, JSON.stringify(index))
    : JSON.stringify(index)
  pieces.push(encodeIndexText(seed, text))
  return { bytes: Buffer.concat(pieces), count: count + 1 }
}

/** The index line with any content, which knows its own length. */
function encodeIndexText(seed, index) {
  const line = (length) =>
    encodeRaw(seed, {
      text: `{"index":${index}}`,
      envelope: JSON.stringify({ length }),
      stored: Buffer.alloc(0),
    })
  let length = 0
  while (line(length).length !== length) length = line(length).length
  return line(length)
}

/** An index with other numbers, after records that are right. */
export function mutateIndex(random, file) {
  const at = file.lastIndexOf('\n{"index":') + 1
  if (at === 0) return { bytes: mutateBytes(random, file), count: 1 }
  const seed = crcOf(file.toString('latin1', 0, file.indexOf(10) + 1))
  const { index } = JSON.parse(file.toString('utf8', at, file.indexOf(9, at)))
  const changed = mutateJson(random, JSON.stringify(index))
  return { bytes: Buffer.concat([file.subarray(0, at), encodeIndexText(seed, changed)]), count: 1 }
}
