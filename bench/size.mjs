import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { openTape, TapeWriter } from '@retake/tape/node'
import { conversation, variants } from './measure/conversation.mjs'
import { readCorpus } from './measure/corpus.mjs'
import { benchRun } from './measure/recorded-step.mjs'
import { withTemporaryFolder } from './measure/temporary-folder.mjs'
import { findNodeWithZstd } from './measure/zstd-node.mjs'

/**
 * How much a tape holds for a conversation that is sent again and again,
 * against what the best general compressor makes of all requests together.
 *
 * @param {{ quick: boolean }} options
 * @returns {Promise<import('./measure/row.mjs').Row[]>}
 */
export async function measure({ quick }) {
  const [fewer, steps] = quick ? [20, 200] : [200, 2000]
  const corpus = readCorpus()
  const node = await findNodeWithZstd()
  const results = await withTemporaryFolder(async (folder) => {
    const found = []
    for (const variant of variants) {
      const path = join(folder, `${variant}.tape`)
      found.push({ variant, ...(await recordRun({ path, corpus, variant, fewer, steps, node })) })
    }
    return found
  })
  const worst = (value) => results.reduce((a, b) => (value(b) > value(a) ? b : a))
  const [plain] = results
  const exponent = ({ fewerBytes, bytes }) => Math.log(bytes / fewerBytes) / Math.log(steps / fewer)
  const overLimit = ({ requestBytes, limitBytes }) =>
    limitBytes === undefined ? undefined : requestBytes / limitBytes
  const perStep = (bytes) => Math.round(bytes / steps)
  const limitMethod = ({ rawBytes, requestBytes, limitBytes }) =>
    limitBytes === undefined
      ? `not measured: ${node.reason}`
      : `stored bytes and envelopes of ${steps} requests; ${perStep(rawBytes)} B a step become ${perStep(requestBytes)} B, the limit is ${perStep(limitBytes)} B`
  const steepest = worst(exponent)
  const largest = node.path === undefined ? plain : worst(overLimit)
  return [
    {
      name: `growth of the tape from ${fewer} to ${steps} steps, as an exponent`,
      ratio: exponent(steepest),
      gate: { max: 1.05 },
      method: `log(bytes ratio) / log(steps ratio) of whole tapes, worst of ${variants.length} kinds of run (${steepest.variant}); seed 1`,
    },
    {
      name: 'request bytes / zstd -19 --long=27 of all requests, plain',
      ratio: overLimit(plain),
      gate: { max: 1.8 },
      method: limitMethod(plain),
    },
    {
      name: 'request bytes / zstd -19 --long=27 of all requests, worst case',
      ratio: overLimit(largest),
      gate: { max: 2.5 },
      method: `${largest.variant}: ${limitMethod(largest)}`,
    },
  ]
}

/** Records a made-up run and sends its requests, one after another, through zstd as well. */
async function recordRun({ path, corpus, variant, fewer, steps, node }) {
  const limit = node.path === undefined ? undefined : startZstd(node.path)
  const writer = TapeWriter.create(path, benchRun, {})
  const sizes = { raw: 0, requests: 0 }
  let fewerBytes = 0
  let step = 0
  for (const { request, answer, toolResult } of conversation({ corpus, variant, seed: 1, steps })) {
    const body = Buffer.from(request)
    sizes.raw += body.length
    const before = statSync(path).size
    const op = appendRequest(writer, body)
    sizes.requests += statSync(path).size - before
    appendRest(writer, op, answer, toolResult)
    if (limit !== undefined) await limit.write(body)
    step += 1
    if (step === fewer) fewerBytes = statSync(path).size
  }
  writer.close()
  // What says who was asked is needed either way; what holds the body is compared.
  for (const event of openTape(path).events()) {
    if (event.type === 'request') sizes.requests -= Buffer.byteLength(JSON.stringify(event))
  }
  return {
    rawBytes: sizes.raw,
    requestBytes: sizes.requests,
    limitBytes: await limit?.end(),
    fewerBytes,
    bytes: statSync(path).size,
  }
}

function appendRequest(writer, body) {
  return writer.append(
    {
      type: 'request',
      seam: 'fetch',
      method: 'POST',
      url: 'https://api.openai.example/v1/chat/completions',
      headers: [['content-type', 'application/json']],
    },
    body,
  )
}

function appendRest(writer, op, answer, toolResult) {
  writer.append({ type: 'response', op, status: 200, statusText: 'OK', headers: [] })
  for (const words of answer.match(/.{1,30}/gs) ?? []) {
    const delta = { choices: [{ index: 0, delta: { content: words } }] }
    const body = Buffer.from(`data: ${JSON.stringify(delta)}\n\n`)
    writer.append({ type: 'deliver', part: 'chunk', op }, body)
  }
  writer.append({ type: 'deliver', part: 'end', op })
  const call = writer.append({ type: 'call', kind: 'tool', name: 'read_file', as: 'json' })
  writer.append({ type: 'result', op: call, as: 'text' }, Buffer.from(toolResult))
}

function startZstd(node) {
  const child = spawn(node, [join(import.meta.dirname, 'measure/zstd-size.mjs')], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  return {
    write: async (bytes) => {
      if (!child.stdin.write(bytes)) await once(child.stdin, 'drain')
    },
    end: async () => {
      child.stdin.end()
      const [line] = await once(child.stdout, 'data')
      return Number(String(line))
    },
  }
}
