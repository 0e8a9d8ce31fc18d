import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { utf8 } from '../../../../test/support/tape-bytes.js'
import { BodyEncoder } from './body-encoder.js'
import { nodePlatform } from '../node/node-platform.js'

const text = (bytes: number): Uint8Array =>
  utf8('All work and no play. '.repeat(bytes).slice(0, bytes))
const noise = (bytes: number): Uint8Array =>
  createHash('shake256', { outputLength: bytes }).update('noise').digest()

/** The envelope fields of a body, and its stored size. */
function fieldsOf(encoder: BodyEncoder, seq: number, type: 'request' | 'result', body: Uint8Array) {
  const { envelope, stored } = encoder.encode(seq, type, body, nodePlatform.sha256(body))
  return { fields: Object.keys(envelope), part: stored.length / body.length }
}

describe('a body', () => {
  test.each([
    ['of a request', 'request', text(600), ['stored', 'size', 'deflate']],
    ['of a request that cannot be compressed', 'request', noise(600), ['stored']],
    ['of a small result', 'result', text(8000), ['stored']],
    ['of a result', 'result', text(9000), ['stored', 'size', 'deflate']],
    ['of a result that cannot be compressed', 'result', noise(9000), ['stored']],
    ['of a huge result', 'result', text((8 << 20) + 1), ['stored']],
  ] as const)('%s is stored with the cheapest useful encoding', (_, type, body, fields) => {
    expect(fieldsOf(new BodyEncoder(nodePlatform), 1, type, body).fields).toEqual(fields)
  })

  test('that was seen before is stored once, whatever kind of event has it', () => {
    const encoder = new BodyEncoder(nodePlatform)
    fieldsOf(encoder, 3, 'result', text(700))
    const again = encoder.encode(9, 'request', text(700), nodePlatform.sha256(text(700)))
    expect(again).toEqual({ stored: new Uint8Array(0), envelope: { size: 700, same: 3 } })
  })

  test('of a request that repeats another stores only what is new', () => {
    const encoder = new BodyEncoder(nodePlatform)
    fieldsOf(encoder, 3, 'request', noise(5000))
    const longer = Buffer.concat([noise(5000), utf8('and something that is new')])
    const { fields, part } = fieldsOf(encoder, 5, 'request', longer)
    expect(fields).toEqual(['stored', 'size', 'base', 'ops'])
    expect(part).toBeLessThan(0.02)
  })
})
