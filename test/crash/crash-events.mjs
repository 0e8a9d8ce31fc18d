import { createHash } from 'node:crypto'

/** The run record of every tape in these tests. */
export const crashRun = {
  type: 'run',
  id: 'crash',
  name: 'crash',
  startedAt: 1,
  scope: 'process',
  node: process.version,
}

/** @param {string} text */
const sha = (text) => createHash('sha256').update(text).digest()

/** @param {string} seed @param {number} seq */
const message = (seed, seq) => `${seed} says ${Math.imul(seq, 2654435761)} `.repeat(20)

/** A conversation that grows with every event, and starts over now and then. @param {string} seed @param {number} seq */
function conversation(seed, seq) {
  const messages = []
  for (let i = seq - (seq % 60); i <= seq; i++) messages.push(message(seed, i))
  return Buffer.from(JSON.stringify({ system: seed.repeat(200), messages }))
}

/**
 * The event that stands at `seq` in a run with this seed. It is a function of
 * both, so the test knows what must be on disk without being told.
 *
 * @param {string} seed
 * @param {number} seq
 */
export function crashEvent(seed, seq) {
  const hash = sha(`${seed}:${seq}`)
  const kind = hash.readUInt8(0)
  if (kind < 40) {
    const headers = [['content-type', 'application/json']]
    const event = { type: 'request', seam: 'fetch', method: 'POST', url: 'https://m/', headers }
    return { event, body: conversation(seed, seq) }
  }
  if (kind < 70 && seq > 1) {
    const body = Buffer.alloc(hash.readUInt16LE(1), hash)
    return { event: { type: 'result', op: seq - 1 }, body }
  }
  if (kind < 100) return { event: { type: 'draw', kind: 'Math.random', value: kind / 256 } }
  const large = kind < 108 ? 100_000 + 10 * hash.readUInt16LE(1) : hash.readUInt16LE(1) % 2000
  return { event: { type: 'output', stream: 'stdout' }, body: Buffer.alloc(large, hash) }
}
