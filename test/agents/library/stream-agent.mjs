// Reads streams in every way there is, and keeps each chunk as it came.
import http from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'

const base64 = (bytes) => Buffer.from(bytes).toString('base64')

async function byReader(url) {
  const chunks = []
  const reader = (await fetch(url)).body.getReader()
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    chunks.push(base64(part.value))
  }
  return chunks
}

async function byIterator(url, most = Infinity) {
  const chunks = []
  for await (const chunk of (await fetch(url)).body) {
    chunks.push(base64(chunk))
    if (chunks.length >= most) break
  }
  return chunks
}

async function untilAborted(url, most) {
  const controller = new AbortController()
  const chunks = []
  try {
    const response = await fetch(url, { signal: controller.signal })
    for await (const chunk of response.body) {
      chunks.push(base64(chunk))
      if (chunks.length === most) controller.abort()
    }
  } catch (error) {
    chunks.push(error.name)
  }
  return chunks
}

const byHttp = (url) =>
  new Promise((resolve, reject) => {
    const chunks = []
    http
      .get(url, (response) => {
        response.on('data', (chunk) => chunks.push(base64(chunk)))
        response.on('end', () => resolve(chunks))
      })
      .on('error', reject)
  })

/** Streams with odd borders, three at once among them. */
export async function agent(base) {
  const events = `${base}/events?count=60`
  return {
    reader: await byReader(events),
    iterator: await byIterator(events),
    http: await byHttp(events),
    together: await Promise.all([byReader(events), byIterator(events), byHttp(events)]),
    left: await byIterator(`${base}/chunks?count=9&gapMs=20`, 3),
    aborted: await untilAborted(`${base}/chunks?count=9&gapMs=20`, 2),
  }
}

/** Requests each chunk of a stream when it has the one before. */
export async function onDemand(base) {
  const chunks = []
  for await (const chunk of (await fetch(`${base}/stream`)).body) {
    chunks.push(base64(chunk))
    await fetch(`${base}/next`)
  }
  return chunks
}

/** About a second of waiting: a slow stream, then a timer. */
export async function slowly(base) {
  const chunks = await byReader(`${base}/chunks?count=10&gapMs=60`)
  await sleep(400)
  return chunks
}
