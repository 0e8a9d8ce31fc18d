import { readFileSync, writeFileSync } from 'node:fs'
import { encodeRecord } from '../../packages/tape/src/format/codec.js'
import { nodePlatform } from '../../packages/tape/src/node/node-platform.js'

/** A record as it stands in the file, taken apart. */
export interface RawRecord {
  /** The event, as JSON text. */
  readonly text: string
  readonly envelope: Readonly<Record<string, unknown>>
  readonly stored: Buffer
}

/** Reads the records of an unpacked tape off its file, the seal included. */
export function readRecords(path: string): RawRecord[] {
  const file = readFileSync(path)
  const records: RawRecord[] = []
  for (let at = 0; at < file.length;) {
    const lineEnd = file.indexOf('\n', at)
    const [text = '', envelopeText = '{}'] = file.toString('utf8', at, lineEnd).split('\t')
    const { crc, ...envelope } = JSON.parse(envelopeText) as Record<string, unknown>
    const length = Number(envelope['stored'] ?? 0)
    at = lineEnd + 1
    if (crc === undefined) break
    records.push({ text, envelope, stored: file.subarray(at, at + length) })
    if (length > 0) at += length + 1
    if (text.includes('"type":"seal"')) break
  }
  return records
}

/** Writes records with the right checksums, but leaves the hash chain as it is. */
export function writeRecords(path: string, records: readonly RawRecord[]): void {
  let seed = 0
  const pieces = records.map((record, index) => {
    const bytes = Buffer.from(encodeRecord(nodePlatform, seed, record))
    // The first line's own checksum seeds all others.
    if (index === 0)
      seed = Number.parseInt(/([0-9a-f]{8})"}\n/.exec(bytes.toString())?.[1] ?? '', 16)
    return bytes
  })
  writeFileSync(path, Buffer.concat(pieces))
}
