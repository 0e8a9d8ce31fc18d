import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { getRequestListener } from '@hono/node-server'
import { expect, onTestFinished, test } from 'vitest'
import { natives } from '../../kernel/natives.js'
import { record } from '../../library/record.js'
import { replay } from '../../library/replay.js'

const attempt = async (work: () => unknown): Promise<unknown> => {
  try {
    return await work()
  } catch (error) {
    return String(error)
  }
}

/** Everything that a program can see when it reads a body. */
async function probe(get: () => Promise<Response>): Promise<unknown[]> {
  const seen: unknown[] = []
  const json = await get()
  seen.push(json.bodyUsed, await json.json(), json.bodyUsed, json.body?.locked)
  seen.push(await attempt(() => json.text()), await attempt(() => json.clone()))
  const cloned = await get()
  const clone = cloned.clone()
  seen.push(await cloned.text(), await clone.json(), clone.url === cloned.url, clone.bodyUsed)
  seen.push((await (await get()).arrayBuffer()).byteLength, (await (await get()).blob()).type)
  const streamed = await get()
  let size = 0
  for await (const chunk of streamed.body ?? []) size += (chunk as Uint8Array).length
  seen.push(size, streamed.bodyUsed, streamed.body?.locked)
  const touched = await get()
  seen.push(touched.body === touched.body, touched.bodyUsed, await touched.text())
  const pending = await get()
  const text = pending.text()
  seen.push(pending.bodyUsed, await attempt(() => pending.json()), await text)
  const cancelled = await get()
  await cancelled.body?.cancel()
  seen.push(cancelled.bodyUsed, await attempt(() => cancelled.text()))
  seen.push(await new Response((await get()).body).text(), (await get()) instanceof Response)
  return seen
}

/** Node's classes, or those that a Hono server puts in front of them. */
const classes = { 'Node.js': () => undefined, Hono: () => getRequestListener(() => undefined) }

test.for(Object.keys(classes) as (keyof typeof classes)[])(
  'a body can be read in the same ways as that of native fetch, recorded and replayed, with classes of %s',
  async (owner) => {
    const native = Object.getOwnPropertyDescriptors(globalThis)
    onTestFinished(() => {
      Object.defineProperties(globalThis, { Request: native.Request, Response: native.Response })
    })
    classes[owner]()
    const server = createServer((_, response) => {
      response.setHeader('content-type', 'application/json').write('\uFEFF{"a":')
      setTimeout(() => response.end('1}'), 3)
    }).listen(0)
    const dir = mkdtempSync(path.join(tmpdir(), 'retake-fetch-'))
    onTestFinished(() => {
      server.close()
      server.closeAllConnections()
      rmSync(dir, { recursive: true, force: true })
    })
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
    const expected = await probe(() => natives.fetch(url))
    const { output, run } = await record({ name: 'bodies', dir, durability: 'process' }, () =>
      probe(() => fetch(url)),
    )
    expect(output).toEqual(expected)
    expect((await replay(run.path, () => probe(() => fetch(url)))).output).toEqual(expected)
  },
)
