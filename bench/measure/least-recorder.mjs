/**
 * The least that a recorder of `fetch` can do, as a floor: it writes the request before it
 * leaves and the answer before the agent gets it, hashes both bodies, and hands the whole
 * answer over in a turn of its own. It replays nothing.
 */
import fs from 'node:fs'
import { createHash } from 'node:crypto'

const nativeFetch = globalThis.fetch
const sha256 = (text) => createHash('sha256').update(text).digest('hex')

/** A `fetch` that records to an open file. */
export const fetchInto =
  (file) =>
  async (url, init = {}) => {
    const { headers, body = '' } = init
    const request = JSON.stringify({ url: String(url), headers: [...new Headers(headers)] })
    fs.writeSync(file, `${request} ${sha256(body)}\n${body}\n`)
    const response = await nativeFetch(url, init)
    const text = await response.text()
    await new Promise((resolve) => setImmediate(resolve))
    fs.writeSync(file, `${JSON.stringify([...response.headers])} ${sha256(text)}\n${text}\n`)
    return new Response(text, response)
  }
