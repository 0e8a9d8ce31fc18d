import { generateKeyPairSync, type KeyObject, sign as signBytes } from 'node:crypto'
import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { describe, expect, test } from 'vitest'
import { isSoak } from '../../../../test/support/soak.js'
import { browserPlatform } from '../browser/browser-platform.js'
import { linkHash } from '../format/chain.js'
import type { NewEvent, RunEvent } from '../format/events.js'
import { merkleProof, MerkleTree, provenIndex, provenRoot } from '../format/merkle.js'
import type { SignatureCheck } from '../format/seal.js'
import { nodePlatform } from '../node/node-platform.js'
import { openTape } from '../node/open-tape.js'
import { TapeWriter } from '../node/tape-writer.js'
import { draftReceipt, type ReceiptDraft } from './make-receipt.js'
import { type CheckedReceipt, checkReceipt, issueReceipt, type ReceiptContent } from './receipt.js'

const folder = mkdtempSync(join(tmpdir(), 'retake-receipt-'))
const seal = generateKeyPairSync('ed25519').privateKey
const issuer = generateKeyPairSync('ed25519').privateKey
const signer = (key: KeyObject) => (message: Uint8Array) => ({
  key: Buffer.from(key.export({ format: 'jwk' }).x ?? '', 'base64url').toString('base64'),
  signature: signBytes(null, message, key).toString('base64'),
})
const check: SignatureCheck = (...given) => nodePlatform.verifyEd25519?.(...given)
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)

let files = 0

/** A run of a guarded agent; returns its tape and the numbers of the approved refund and its answer. */
function refundTape({ isForReceipts = true, calls = 3 } = {}) {
  const id = `run-${files++}`
  const file = join(folder, `${id}.tape`)
  const run = {
    type: 'run',
    id,
    name: 'refunds',
    startedAt: 1_700_000_000_000,
    scope: 'function',
    node: 'v20.20.2',
    ...(isForReceipts && { receipts: true }),
  } as const satisfies Omit<NewEvent<RunEvent>, 'format'>
  const writer = TapeWriter.create(file, run, { cwd: '/agent', input: 'PRIVATE-INPUT' })
  let wanted = 0
  let answered = 0
  for (let call = 1; call <= calls; call++) {
    const request = {
      type: 'request',
      seam: 'fetch',
      method: 'POST',
      url: 'https://model/v1',
      headers: [],
    }
    const op = writer.append(
      request as NewEvent,
      bytes(`PRIVATE-PROMPT ${'of a customer '.repeat(60)}`),
    )
    writer.append({ type: 'response', op, status: 200, statusText: 'OK', headers: [] })
    writer.append({ type: 'deliver', op, part: 'chunk' }, bytes('PRIVATE-ANSWER'))
    writer.append({ type: 'deliver', op, part: 'end' })
    const decision = { verdict: 'ask', rule: 'refunds/above-100', policy: 'p' }
    const value = { guard: 'main', call, fingerprint: 'f', occurrence: 1, ...decision }
    writer.append({ type: 'draw', kind: 'guard-before', value: null })
    writer.append({ type: 'draw', kind: 'guard', value })
    const tool = writer.append(
      { type: 'call', kind: 'tool', name: 'refund', as: 'json' } as NewEvent,
      bytes(`{"order":${call},"amount":250}`),
    )
    writer.append({ type: 'output', stream: 'stdout' }, bytes('PRIVATE-OUTPUT'))
    const approval = {
      by: 'anna',
      how: 'terminal',
      digest: 'd',
      askedAt: 1,
      decidedAt: 2,
      expiresAt: 3,
    }
    writer.append(
      { type: 'note', kind: 'attachment', name: 'guard-approved' },
      bytes(JSON.stringify({ op: tool, approval })),
    )
    const result = writer.append(
      { type: 'result', op: tool, as: 'json', guard: { status: 'done' } } as NewEvent,
      bytes('"PRIVATE-RESULT"'),
    )
    if (call === 2) [wanted, answered] = [tool, result]
  }
  writer.append({ type: 'end', exitCode: 0 })
  writer.seal({ privateKey: seal })
  return { tape: openTape(file), wanted, answered }
}

const draftOf = ({ tape, wanted }: ReturnType<typeof refundTape>): ReceiptDraft =>
  draftReceipt(nodePlatform, tape, [{ label: '4', seq: wanted, answerSeqs: [] }])
const issued = ({ content }: ReceiptDraft): string => issueReceipt(content, signer(issuer))
const checked = (text: string): Promise<CheckedReceipt> => checkReceipt(nodePlatform, text, check)

describe('a receipt', () => {
  test('proves a call, the rule that decided it and its approval, and nothing else of the run', async () => {
    const recorded = refundTape()
    const draft = draftOf(recorded)
    expect(draft.neighbors).toEqual([])
    const text = issued(draft)
    const result = await checked(text)
    expect(result).toMatchObject({
      ok: true,
      digest: recorded.tape.digest,
      run: { id: recorded.tape.run.id, name: 'refunds' },
      seal: { state: 'valid', key: signer(seal)(bytes('')).key },
      issuer: { state: 'valid', key: signer(issuer)(bytes('')).key },
      count: recorded.tape.count - 1,
      shown: 5,
    })
    const [call, ...others] = result.calls
    expect(others).toEqual([])
    expect(call).toMatchObject({
      seq: recorded.wanted,
      label: '4',
      event: { type: 'call', name: 'refund' },
      decision: { verdict: 'ask', rule: 'refunds/above-100' },
      approval: { by: 'anna' },
    })
    expect(Buffer.from(call?.body ?? []).toString()).toBe('{"order":2,"amount":250}')
    expect(text).not.toMatch(/PRIVATE/)
    expect(readFileSync(recorded.tape.path, 'utf8')).toMatch(/PRIVATE-RESULT/)
  })

  test('shows the answer of a step on request', async () => {
    const recorded = refundTape()
    const { tape, wanted, answered } = recorded
    const steps = [{ label: '4', seq: wanted, answerSeqs: [answered] }]
    const text = issued(draftReceipt(nodePlatform, tape, steps))
    const [call] = (await checked(text)).calls
    expect(call?.answer?.event).toMatchObject({ guard: { status: 'done' } })
    expect(Buffer.from(call?.answer?.body ?? []).toString()).toBe('"PRIVATE-RESULT"')
  })

  test('hides long bodies behind their hash, and says that they are hidden', async () => {
    const { tape } = refundTape()
    const steps = [{ label: '1', seq: 1, answerSeqs: [] }]
    const shown = issued(draftReceipt(nodePlatform, tape, steps))
    const hidden = issued(draftReceipt(nodePlatform, tape, steps, { hidesBodies: true }))
    expect(shown).toMatch(/PRIVATE-PROMPT/)
    expect(hidden).not.toMatch(/PRIVATE/)
    expect((await checked(shown)).calls[0]?.body).toHaveLength(855)
    expect((await checked(hidden)).calls[0]).not.toHaveProperty('body')
  })

  test('is checked in the same way without Node, and says if signatures cannot be', async () => {
    const text = issued(draftOf(refundTape()))
    const here = await checked(text)
    expect(await checkReceipt(browserPlatform, text, check)).toEqual(here)
    const unchecked = await checkReceipt(browserPlatform, text, () => undefined)
    expect(unchecked).toMatchObject({
      ok: true,
      seal: { state: 'unchecked' },
      issuer: { state: 'unchecked' },
    })
  })

  test('of a tape that was not recorded for receipts names the events that it has to show, too', () => {
    const { neighbors } = draftOf(refundTape({ isForReceipts: false }))
    expect(neighbors.map(({ type }) => type)).toEqual(['deliver', 'deliver', 'output'])
  })
})

/** Changes of a JSON value at every depth: omissions, and substitutions of texts and numbers. */
function* changesOf(value: unknown, other: unknown): Generator {
  if (typeof value === 'string') {
    yield value === '' ? 'x' : ''
    if (value !== '') yield value.slice(1)
    if (typeof other === 'string' && other !== value) yield other
  } else if (typeof value === 'number') {
    yield value + 1
    yield value - 1
  } else if (Array.isArray(value)) {
    const others: readonly unknown[] = Array.isArray(other) ? other : []
    for (const [index, each] of value.entries()) {
      yield value.toSpliced(index, 1)
      if (index > 0) yield value.toSpliced(index - 1, 2, each, value[index - 1])
      if (index in others && JSON.stringify(others[index]) !== JSON.stringify(each))
        yield value.with(index, others[index])
      for (const change of changesOf(each, others[index])) yield value.with(index, change)
    }
  } else if (typeof value === 'object' && value !== null) {
    for (const [key, each] of Object.entries(value)) {
      const { [key]: _, ...rest } = value as Record<string, unknown>
      yield rest
      const others = (other as Record<string, unknown> | undefined)?.[key]
      for (const change of changesOf(each, others)) yield { ...value, [key]: change }
    }
  }
}

describe('a changed receipt is refused', () => {
  const text = issued(draftOf(refundTape()))
  const other = issued(draftOf(refundTape()))

  test('for every single bit', async () => {
    const original = Buffer.from(text)
    const accepted: string[] = []
    const step = isSoak ? 1 : 7
    for (let bit = 0; bit < original.length * 8; bit += step) {
      const flipped = Buffer.from(original)
      flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7))
      // Invalid UTF-8 decodes to a different text, as when the file is read.
      if ((await checked(flipped.toString('utf8'))).ok) accepted.push(`bit ${bit}`)
    }
    expect(accepted).toEqual([])
  }, 120_000)

  test('for every omission and substitution, also of parts of another receipt', async () => {
    let count = 0
    const accepted: unknown[] = []
    for (const change of changesOf(JSON.parse(text), JSON.parse(other))) {
      count++
      if ((await checked(`${JSON.stringify(change, null, 1)}\n`)).ok) accepted.push(change)
    }
    expect(accepted).toEqual([])
    expect(count).toBeGreaterThan(400)
  })

  test('by an issuer who signs the change: whatever is accepted is on the tape', async () => {
    const { issuer: _, version: __, ...content } = JSON.parse(text) as Record<string, unknown>
    const { issuer: ___, version: ____, ...others } = JSON.parse(other) as Record<string, unknown>
    const truth = (await checked(text)).calls.map(({ label: _label, ...call }) => call)
    const lies: unknown[] = []
    const kinds = new Set<string>()
    for (const change of changesOf(content, others)) {
      const changed = change as ReceiptContent
      const result = await checked(issueReceipt(changed, signer(issuer)))
      if (!result.ok) continue
      for (const { label: _label, ...call } of result.calls) {
        const real: Record<string, unknown> = { ...truth.find(({ seq }) => seq === call.seq) }
        const isTrue = Object.entries(call).every(([key, value]) =>
          isDeepStrictEqual(value, real[key]),
        )
        if (!isTrue) lies.push(change)
      }
      kinds.add(changed.links.length < 3 ? 'shows less' : 'other label')
    }
    expect(lies).toEqual([])
    expect([...kinds].toSorted()).toEqual(['other label', 'shows less'])
  })
})

test('hidden events cannot be confirmed by guessing them', () => {
  const guessable = (isForReceipts: boolean): boolean => {
    const recorded = refundTape({ isForReceipts })
    const text = issued(draftOf(recorded))
    const { tape, answered } = recorded
    // An attacker who knows everything about the next event except its salt.
    const { text: known, envelope, body } = tape.ownRecord(answered)
    const guess = Buffer.from(known)
      .toString()
      .replace(/,"salt":"[^"]*"/, '')
    const previous = tape.ownRecord(answered - 1).envelope.chain ?? ''
    const hash = linkHash(nodePlatform, {
      from: previous,
      lights: [],
      event: { text: bytes(guess), size: body.length, body },
    })
    expect(text).toContain(envelope.chain)
    return text.includes(hash)
  }
  expect(guessable(false)).toBe(true)
  expect(guessable(true)).toBe(false)
})

test('the size of a proof grows with the logarithm of the tape', () => {
  const sizes = [1, 10, 100, 1000, 10_000, 100_000].map((count) => {
    const leaves = Array.from({ length: count }, (_, at) => nodePlatform.sha256(`leaf ${at}`))
    const tree = new MerkleTree(nodePlatform)
    for (const leaf of leaves) tree.add(leaf)
    let most = 0
    for (const index of new Set(
      [0, 1, count >> 1, count - 2, count - 1].filter((at) => at in leaves),
    )) {
      const proof = merkleProof(nodePlatform, leaves, index)
      expect(provenRoot(nodePlatform, leaves[index] ?? '', proof)).toBe(tree.root())
      expect(provenIndex(proof)).toBe(index)
      most = Math.max(most, 32 * proof.flatMap(({ beside }) => beside).length)
    }
    return [count, most]
  })
  process.stdout.write(sizes.map(([count, size]) => `${count} events: ${size} bytes\n`).join(''))
  for (const [count = 0, size = 0] of sizes)
    expect(size).toBeLessThanOrEqual(
      15 * 32 * Math.ceil(Math.log(Math.max(count, 1)) / Math.log(16)),
    )
})
