/**
 * The least that a recorder can do, as a floor: it writes the request before it leaves and
 * the answer before the agent gets it, hashes bodies, and hands an answer over in a turn of
 * its own. It replays nothing.
 */
import fs from 'node:fs'
import { createHash } from 'node:crypto'
import { open } from 'node:fs/promises'
import { dirname } from 'node:path'
import { promisify } from 'node:util'

const nativeFetch = globalThis.fetch
const { fdatasyncSync } = fs
const sha256 = (text) => createHash('sha256').update(text).digest('hex')

/** A `fetch` that records to an open file, and waits for `sync` before a request leaves. */
export const fetchInto =
  (file, sync = async () => {}) =>
  async (url, init = {}) => {
    const { headers, body = '' } = init
    const request = JSON.stringify({ url: String(url), headers: [...new Headers(headers)] })
    fs.writeSync(file, `${request} ${sha256(body)}\n${body}\n`)
    await sync(file)
    const response = await nativeFetch(url, init)
    const text = await response.text()
    await new Promise((resolve) => setImmediate(resolve))
    fs.writeSync(file, `${JSON.stringify([...response.headers])} ${sha256(text)}\n${text}\n`)
    return new Response(text, response)
  }

/** Puts an open file on disk without blocking the event loop. */
export const syncLater = promisify(fs.fdatasync)

/** Puts the name of a new file on disk in the same way. */
export async function syncFolderOf(path) {
  const folder = await open(dirname(path))
  await folder.sync()
  await folder.close()
}

/**
 * A tool that is written before it is called, and whose result is written before the agent
 * gets it; `sync` waits for the disk both times.
 */
export const toolInto =
  (tool, { fileOf, sync }) =>
  async (argument) => {
    const file = fileOf()
    fs.writeSync(file, `${JSON.stringify({ call: argument })}\n`)
    await sync(file)
    const result = tool(argument)
    fs.writeSync(file, `${JSON.stringify({ result })}\n`)
    await sync(file)
    return result
  }

/** Writes a step, each event before the next one happens, and syncs at its barriers if it `isSynced`. @returns {number} Milliseconds. */
export function recordLeastStep(file, parts, { isSynced = true } = {}) {
  const started = performance.now()
  for (const { event, body = '', barrier } of parts) {
    fs.writeSync(file, Buffer.from(`${JSON.stringify(event)} ${body}\n`))
    if (isSynced && barrier === true) fdatasyncSync(file)
  }
  return performance.now() - started
}
