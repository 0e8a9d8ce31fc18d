import { VALUE_MAX } from './json-stream.js'

/** Fields of a message by number: name and type. */
type FieldTable = Readonly<Record<number, readonly [name: string, read: FieldRead]>>
type FieldRead = 'text' | 'hex' | 'base64' | 'int' | 'double' | 'bool' | FieldTable | 'any'
const REPEATED = new Set(['attributes', 'events', 'links', 'values'])

/* From opentelemetry/proto/trace/v1 and common/v1, version 1. */
const KEY_VALUE: FieldTable = { 1: ['key', 'text'], 2: ['value', 'any'] }
const ANY_VALUE: FieldTable = {
  1: ['stringValue', 'text'],
  2: ['boolValue', 'bool'],
  3: ['intValue', 'int'],
  4: ['doubleValue', 'double'],
  5: ['arrayValue', { 1: ['values', 'any'] }],
  6: ['kvlistValue', { 1: ['values', KEY_VALUE] }],
  7: ['bytesValue', 'base64'],
}
const RESOURCE: FieldTable = { 1: ['attributes', KEY_VALUE] }
const SCOPE: FieldTable = {
  1: ['name', 'text'],
  2: ['version', 'text'],
  3: ['attributes', KEY_VALUE],
}
const SPAN: FieldTable = {
  1: ['traceId', 'hex'],
  2: ['spanId', 'hex'],
  3: ['traceState', 'text'],
  4: ['parentSpanId', 'hex'],
  5: ['name', 'text'],
  6: ['kind', 'int'],
  7: ['startTimeUnixNano', 'int'],
  8: ['endTimeUnixNano', 'int'],
  9: ['attributes', KEY_VALUE],
  11: ['events', { 1: ['timeUnixNano', 'int'], 2: ['name', 'text'], 3: ['attributes', KEY_VALUE] }],
  13: [
    'links',
    {
      1: ['traceId', 'hex'],
      2: ['spanId', 'hex'],
      3: ['traceState', 'text'],
      4: ['attributes', KEY_VALUE],
    },
  ],
  15: ['status', { 2: ['message', 'text'], 3: ['code', 'int'] }],
}

/** The bytes are not a message of this type. */
class BrokenMessage extends Error {
  override readonly name = 'BrokenMessage'
}

const DEPTH_MAX = 40

/** Reads one message with the field names of OTLP in JSON. Ignores unknown fields. */
function readMessage(bytes: Buffer, table: FieldTable, depth = 0): Record<string, unknown> {
  if (depth > DEPTH_MAX) throw new BrokenMessage('too deep')
  const message: Record<string, unknown> = {}
  const reader = { at: 0 }
  while (reader.at < bytes.length) {
    const tag = Number(varint(bytes, reader))
    const [name, read] = table[tag >>> 3] ?? []
    const value = readField(bytes, reader, tag & 7)
    if (name === undefined || read === undefined) continue
    const decoded = decodeField(value, read, depth)
    if (REPEATED.has(name)) message[name] = [...((message[name] as unknown[]) ?? []), decoded]
    else message[name] = decoded
  }
  return message
}

function decodeField(value: Buffer | bigint, read: FieldRead, depth: number): unknown {
  if (read === 'int') {
    if (typeof value !== 'bigint') return fail()
    // 64-bit integers are text, as in OTLP's JSON. Small ones are numbers, for enumerations.
    const number = BigInt.asIntN(64, value)
    return number >= 0n && number < 1000n ? Number(number) : String(number)
  }
  if (read === 'bool') return value === 1n
  if (read === 'double') {
    if (typeof value !== 'bigint') return fail()
    const bytes = Buffer.alloc(8)
    bytes.writeBigUInt64LE(value)
    return bytes.readDoubleLE()
  }
  if (typeof value === 'bigint') return fail()
  if (read === 'text') return value.toString()
  if (read === 'hex' || read === 'base64') return value.toString(read)
  return readMessage(value, read === 'any' ? ANY_VALUE : read, depth + 1)
}

const fail = (): never => {
  throw new BrokenMessage('a field has another type')
}

function readField(bytes: Buffer, reader: { at: number }, wireType: number): Buffer | bigint {
  if (wireType === 0) return varint(bytes, reader)
  const length = wireType === 1 ? 8 : wireType === 5 ? 4 : wireType === 2 ? -1 : -2
  if (length === -2) throw new BrokenMessage(`wire type ${wireType}`)
  const size = length === -1 ? Number(varint(bytes, reader)) : length
  const end = reader.at + size
  if (end > bytes.length) throw new BrokenMessage('cut off')
  const part = bytes.subarray(reader.at, end)
  reader.at = end
  if (wireType === 1) return part.readBigUInt64LE()
  return wireType === 5 ? BigInt(part.readUInt32LE()) : part
}

function varint(bytes: Buffer, reader: { at: number }): bigint {
  let value = 0n
  for (let shift = 0n; shift < 70n; shift += 7n) {
    const byte = bytes[reader.at++]
    if (byte === undefined) throw new BrokenMessage('cut off')
    value |= BigInt(byte & 0x7f) << shift
    if (byte < 0x80) return value
  }
  throw new BrokenMessage('a number is too long')
}

export interface ProtobufVisitor {
  /** Called before spans of another resource or scope. */
  resource(json: unknown): void
  scope(json: unknown): void
  span(json: unknown): void
  broken(): void
}

/** Messages around spans: the field to descend into, and the one to decode as a whole. */
const CONTAINERS = [
  { inner: 1 },
  { inner: 2, whole: { number: 1, table: RESOURCE, name: 'resource' } },
  { inner: 2, whole: { number: 1, table: SCOPE, name: 'scope' } },
] as const

/**
 * Reads an OTLP export request in protobuf, in pieces: a request is a list of resources with scopes
 * with spans, and only one span is in memory at a time. Concatenated requests count as one. The
 * JavaScript packages of OpenTelemetry can only write this format.
 */
export class ProtobufStream {
  /** Bytes left in each open message. */
  readonly #left: number[] = []
  #pending: Buffer = Buffer.alloc(0)
  #skip = 0
  #isBroken = false

  constructor(private readonly visitor: ProtobufVisitor) {}

  write(chunk: Buffer): void {
    if (this.#isBroken) return
    this.#pending = this.#pending.length === 0 ? chunk : Buffer.concat([this.#pending, chunk])
    try {
      while (this.#step()) continue
    } catch (error) {
      if (!(error instanceof BrokenMessage)) throw error
      this.#isBroken = true
      this.visitor.broken()
    }
  }

  end(): void {
    if (!this.#isBroken && (this.#pending.length > 0 || this.#left.length > 0 || this.#skip > 0))
      this.visitor.broken()
  }

  /** Reads one field. Returns false if more bytes are needed. */
  #step(): boolean {
    while (this.#left.at(-1) === 0) this.#left.pop()
    if (this.#skip > 0) {
      const some = Math.min(this.#skip, this.#pending.length)
      this.#consume(some)
      this.#skip -= some
      return some > 0
    }
    const reader = { at: 0 }
    const tag = this.#number(reader)
    if (tag === undefined) return false
    const isBytes = (tag & 7) === 2
    const size = isBytes ? this.#number(reader) : this.#fixedSize(tag & 7, reader)
    if (size === undefined) return false
    const container = CONTAINERS[this.#left.length]
    const number = tag >>> 3
    if (isBytes && container?.inner === number && this.#left.length < 2) {
      this.#consume(reader.at)
      const around = this.#left.at(-1)
      if (around !== undefined && size > around) throw new BrokenMessage('longer than its parent')
      if (around !== undefined) this.#left[this.#left.length - 1] = around - size
      this.#left.push(size)

      // A message without a resource or scope has an empty one.
      if (this.#left.length === 1) this.visitor.resource({})
      else this.visitor.scope({})

      return true
    }
    const isSpan = isBytes && container?.inner === number
    const whole = container !== undefined && 'whole' in container ? container.whole : undefined
    const isWhole = isBytes && whole?.number === number
    if ((!isSpan && !isWhole) || size > VALUE_MAX) {
      if (isSpan) this.visitor.broken()
      this.#consume(reader.at)
      this.#skip = size
      return true
    }
    if (this.#pending.length < reader.at + size) return false
    const bytes = this.#pending.subarray(reader.at, reader.at + size)
    this.#consume(reader.at + size)
    this.#visit(bytes, isSpan ? undefined : whole)
    return true
  }

  /** A malformed span does not affect later ones, because its length is known. */
  #visit(
    bytes: Buffer,
    whole: { readonly table: FieldTable; readonly name: 'resource' | 'scope' } | undefined,
  ): void {
    try {
      const json = readMessage(bytes, whole?.table ?? SPAN)
      this.visitor[whole?.name ?? 'span'](json)
    } catch (error) {
      if (!(error instanceof BrokenMessage)) throw error
      this.visitor.broken()
    }
  }

  #fixedSize(wireType: number, reader: { at: number }): number | undefined {
    if (wireType === 1) return 8
    if (wireType === 5) return 4
    if (wireType !== 0) throw new BrokenMessage(`wire type ${wireType}`)
    return this.#number(reader) === undefined ? undefined : 0
  }

  #number(reader: { at: number }): number | undefined {
    const start = reader.at
    for (let at = start; at < start + 10; at++) {
      const byte = this.#pending[at]
      if (byte === undefined) return undefined
      if (byte < 0x80) return Number(varint(this.#pending, reader))
    }
    throw new BrokenMessage('a number is too long')
  }

  #consume(size: number): void {
    this.#pending = this.#pending.subarray(size)
    const around = this.#left.at(-1)
    if (around === undefined) return
    if (size > around) throw new BrokenMessage('longer than its parent')
    this.#left[this.#left.length - 1] = around - size
  }
}
