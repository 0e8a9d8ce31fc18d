/**
 * The least that a recorder can do, as a floor: it writes the request before it leaves and
 * the answer before the agent gets it, hashes bodies, and hands an answer over in a turn of
 * its own. It replays nothing.
 */
import fs from 'node:fs'
import { createHash } from 'node:crypto'

const nativeFetch = globalThis.fetch
const { fdatasyncSync } = fs
const sha256 = (text) => createHash('sha256').update(text).digest('hex')

/** A `fetch` that records to an open file, and waits for the disk before a request leaves if it `isSynced`. */
export const fetchInto =
  (file, { isSynced = false } = {}) =>
  async (url, init = {}) => {
    const { headers, body = '' } = init
    const request = JSON.stringify({ url: String(url), headers: [...new Headers(headers)] })
    fs.writeSync(file, `${request} ${sha256(body)}\n${body}\n`)
    if (isSynced) fdatasyncSync(file)
    const response = await nativeFetch(url, init)
    const text = await response.text()
    await new Promise((resolve) => setImmediate(resolve))
    fs.writeSync(file, `${JSON.stringify([...response.headers])} ${sha256(text)}\n${text}\n`)
    return new Response(text, response)
  }

/** Writes a step, each event before the next one happens, and syncs at its barriers. @returns {number} Milliseconds. */
export function recordLeastStep(file, parts) {
  const started = performance.now()
  for (const { event, body = '', barrier } of parts) {
    fs.writeSync(file, Buffer.from(`${JSON.stringify(event)} ${body}\n`))
    if (barrier === true) fdatasyncSync(file)
  }
  return performance.now() - started
}
