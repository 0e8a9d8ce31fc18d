import type { NewEvent } from '../../packages/tape/src/format/events.js'
import { nodePlatform } from '../../packages/tape/src/node/node-platform.js'
import { RecordEncoder, type SealSigner } from '../../packages/tape/src/format/record-encoder.js'

/** An event with its body, before it is on tape. */
export interface Draft {
  readonly event: NewEvent
  readonly body?: Uint8Array
}

const runDraft: Draft = {
  event: {
    type: 'run',
    format: 1,
    id: 'run-1',
    name: 'sample',
    startedAt: 1_700_000_000_000,
    scope: 'function',
    node: 'v20.20.2',
  },
  body: new TextEncoder().encode('{"cwd":"/agent"}'),
}

export const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text)

/** A tape in memory: the run record, the drafts, and a seal if asked for. Record `i` ends at `ends[i]`. */
export function tapeBytes(
  drafts: readonly Draft[],
  options: {
    readonly sealed?: boolean
    /** Called after each event is encoded. */
    readonly afterEach?: (seq: number) => unknown
    readonly sign?: SealSigner
    readonly run?: Draft
  } = {},
): { readonly bytes: Uint8Array; readonly ends: readonly number[] } {
  const encoder = new RecordEncoder(nodePlatform)
  const pieces: Uint8Array[] = []
  const ends: number[] = []
  let end = 0
  const add = (record: readonly Uint8Array[]) => {
    for (const piece of record) {
      pieces.push(new Uint8Array(piece))
      end += piece.length
    }
    ends.push(end)
  }
  for (const { event, body } of [options.run ?? runDraft, ...drafts]) {
    encoder.encode(event, encoder.seq / 8, body)
    add(encoder.take())
    options.afterEach?.(encoder.seq - 1)
  }
  if (options.sealed === true) add(encoder.encodeSeal(encoder.seq / 8, options.sign))
  return { bytes: new Uint8Array(Buffer.concat(pieces)), ends }
}

/** A little run with every way of storing a body: heavy and light, raw, deflated, once, delta. */
export function sampleDrafts(): Draft[] {
  const prompt = 'You are a careful agent. '.repeat(30)
  const conversation = (turns: number) =>
    utf8(
      JSON.stringify({
        system: prompt,
        messages: Array.from({ length: turns }, (_, i) => `turn ${i}: ${prompt.slice(i, i + 40)}`),
      }),
    )
  const request = (turns: number): Draft => ({
    event: { type: 'request', seam: 'fetch', method: 'POST', url: 'https://model/v1', headers: [] },
    body: conversation(turns),
  })
  const file = utf8('line of a file\n'.repeat(50))
  return [
    { event: { type: 'draw', kind: 'Math.random', value: 0.25 } },
    request(3),
    { event: { type: 'response', op: 2, status: 200, statusText: 'OK', headers: [['x', 'ü']] } },
    { event: { type: 'deliver', op: 2, part: 'chunk' }, body: utf8('data: {"seq":9}\n\n') },
    { event: { type: 'deliver', op: 2, part: 'end' } },
    { event: { type: 'call', kind: 'file', name: 'fs.readFile' }, body: utf8('["a.txt"]') },
    { event: { type: 'result', op: 6, as: 'bytes' }, body: file },
    request(5),
    { event: { type: 'call', kind: 'file', name: 'fs.readFile' }, body: utf8('["b.txt"]') },
    { event: { type: 'result', op: 9, as: 'bytes' }, body: file },
    { event: { type: 'output', stream: 'stdout' }, body: utf8('done\n') },
    { event: { type: 'end', exitCode: 0 } },
  ]
}
