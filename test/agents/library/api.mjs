// Uses the library as a program would and reports what it saw, as JSON in its
// last line on stdout. Each function is one story; the task names it.
import { AsyncLocalStorage } from 'node:async_hooks'
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import http from 'node:http'
import http2 from 'node:http2'
import { setTimeout as sleep } from 'node:timers/promises'
import { openTape } from '@retake/tape/node'
import { record, replay, ReplayDiverged, RetakeError, tool } from '@retake/engine'
import axios from 'axios'
import { request } from 'undici'
import { WebSocket } from 'ws'

const { story, base, h2Base } = JSON.parse(process.argv[2])
const options = { name: 'story', dir: 'runs' }
const text = async (path) => (await fetch(base + path)).text()

/** What `run` throws. */
async function thrownBy(run) {
  try {
    await run()
  } catch (error) {
    return error
  }
  throw new Error('nothing was thrown')
}

const eventsOf = (path) => [...openTape(path).events()]

const stories = {
  async output() {
    const agent = async () => ({ at: Date.now(), answer: await text('/echo') })
    const { output, run } = await record(options, agent)
    const replayed = await replay(run.path, agent)
    const synchronous = await record(options, () => Math.random())
    const again = await replay(synchronous.run.path, () => Math.random())
    const nothing = await record(options, () => undefined)
    return {
      output,
      run,
      replayed,
      synchronous: [synchronous.output, again.output],
      nothing: [
        nothing.output === undefined,
        (await replay(nothing.run.path, () => undefined)).output === undefined,
      ],
      status: openTape(run.path).status,
      scope: openTape(run.path).run.scope,
    }
  },

  async error() {
    class Refused extends Error {
      name = 'Refused'
      code = 'E_REFUSED'
    }
    const original = new Refused('no', { cause: new TypeError('inner') })
    const agent = async () => {
      await sleep(1)
      throw original
    }
    const recorded = await thrownBy(() => record(options, agent))
    const [tape] = readdirSync('runs')
    const end = eventsOf(`runs/${tape}`).find(({ type }) => type === 'end')
    const replayed = await thrownBy(() => replay(`runs/${tape}`, agent))
    const other = await thrownBy(() =>
      replay(`runs/${tape}`, async () => {
        await sleep(1)
        throw new Refused('never')
      }),
    )
    const otherClass = await thrownBy(() =>
      replay(`runs/${tape}`, async () => {
        await sleep(1)
        throw new TypeError('no')
      }),
    )
    return {
      isSame: recorded === original && replayed === original,
      end: end.error,
      other: [other instanceof ReplayDiverged, other.divergence.mismatches],
      otherClass: otherClass.divergence.mismatches,
    }
  },

  /** A key in an error message stays off the tape, and does not keep it from matching. */
  async secretInError() {
    const key = process.env.MODEL_API_KEY
    const failing = tool('failing', () => {
      throw Object.assign(new Error(`bad key ${key}`), {
        config: { headers: { 'x-api-key': key } },
      })
    })
    const agent = async () => {
      await failing().catch(({ message }) => console.log(message))
      throw new Error(`gave up on ${key}`)
    }
    const recorded = await thrownBy(() => record(options, agent))
    const [tape] = readdirSync('runs')
    const replayed = await thrownBy(() => replay(`runs/${tape}`, agent))
    return {
      messages: [recorded.message, replayed.message],
      isOnTape: readFileSync(`runs/${tape}`, 'latin1').includes(key),
    }
  },

  async divergence() {
    const { run } = await record(options, () => text('/echo?a'))
    const error = await thrownBy(() => replay(run.path, () => text('/echo?b')))
    return {
      isDiverged: error instanceof ReplayDiverged && error instanceof RetakeError,
      isError: error instanceof Error,
      name: error.name,
      code: error.code,
      hasFix: error.fix.length > 0,
      divergence: error.divergence,
    }
  },

  /** Two lanes at once, of which the one that is not awaited yet does something else. */
  async divergenceInBackground() {
    let unhandled = 0
    process.on('unhandledRejection', () => unhandled++)
    const lanes = (path) => async () => {
      const first = text('/echo?a')
      const second = text(path)
      return [await first, await second]
    }
    const { run } = await record(options, lanes('/echo?b'))
    const error = await thrownBy(() => replay(run.path, lanes('/echo?c')))
    await sleep(50)
    return { seq: error.divergence.seq, unhandled }
  },

  async tools() {
    let executed = 0
    const add = tool('add', (a, b) => {
      executed += 1
      return a + b + Math.random()
    })
    const outside = await add(1, 2)
    const executedOutside = executed
    const agent = async () => [await add(1, 2), await add(1, 2), await add(3, 4)]
    const { output, run } = await record(options, agent)
    const executedInRecording = executed - executedOutside
    const replayed = await replay(run.path, agent)
    const observed = await replay(run.path, agent, { mode: 'observe' })
    const calls = eventsOf(run.path).filter(({ type }) => type === 'call')
    return {
      outside,
      executedOutside,
      executedInRecording,
      executedInReplay: executed - executedOutside - executedInRecording,
      isSame: [replayed, observed].every(
        (each) => JSON.stringify(each.output) === JSON.stringify(output),
      ),
      results: output,
      names: calls.map(({ kind, name }) => `${kind} ${name}`),
      // What a tool draws inside is its own business.
      draws: eventsOf(run.path).filter(({ type }) => type === 'draw').length,
    }
  },

  async nested() {
    const inner = () => record(options, () => 1)
    const codes = {}
    codes.recordInRecord = (await thrownBy(() => record(options, inner))).code
    const { run } = await record(options, () => 1)
    codes.replayInRecord = (
      await thrownBy(() => record(options, () => replay(run.path, () => 1)))
    ).code
    const caught = await record(options, () => inner().catch(({ code }) => code))
    codes.replayed = (await replay(caught.run.path, () => inner().catch(({ code }) => code))).output
    codes.afterwards = (await record(options, () => 2)).output
    return codes
  },

  async pending() {
    const later = []
    let ticks = 0
    let interval
    const started = performance.now()
    const { output, run } = await record(options, () => {
      later.push(
        text('/chunks?count=3&gapMs=30'),
        sleep(40, 'slept'),
        tool('slow', () => sleep(30, 'done'))(),
        new Promise((resolve) => setTimeout(() => resolve(Date.now() > 1e12), 20)),
      )
      interval = setInterval(() => ticks++, 10)
      return 'early'
    })
    const ended = eventsOf(run.path).length
    const values = await Promise.all(later)
    await sleep(50)
    clearInterval(interval)
    const ticksAtClear = ticks
    await sleep(30)
    return {
      output,
      values,
      tookMs: performance.now() - started,
      isTapeClosed: ended === eventsOf(run.path).length,
      status: openTape(run.path).status,
      ticked: ticksAtClear > 2,
      isCleared: ticks === ticksAtClear,
    }
  },

  /** The agent's own AsyncLocalStorage holds over every kind of answer, in lanes at once. */
  async context() {
    const storage = new AsyncLocalStorage()
    const look = tool('look', () => 1)
    const lane = (id) =>
      storage.run(id, async () => {
        const seen = []
        const see = () => seen.push(storage.getStore() === id)
        const get = (path) =>
          new Promise((resolve) => {
            http.get(base + path, (response) => {
              see()
              response.on('data', see)
              response.on('end', resolve)
            })
          })
        await text('/echo').then(see)
        for await (const _ of (await fetch(`${base}/chunks?count=3&gapMs=3`)).body) see()
        await get('/chunks?count=3&gapMs=3').then(see)
        await look().then(see)
        await sleep(2).then(see)
        await new Promise((resolve) => setTimeout(() => resolve(see()), 2))
        await new Promise((resolve) => setImmediate(() => resolve(see())))
        await crypto.subtle.digest('SHA-256', new Uint8Array(1)).then(see)
        await new Promise((resolve) => randomBytes(4, () => resolve(see())))
        return seen.length > 10 && seen.every(Boolean)
      })
    const agent = () => Promise.all(['a', 'b', 'c', 'd'].map(lane))
    const { output, run } = await record(options, agent)
    return { recorded: output, replayed: (await replay(run.path, agent)).output }
  },

  /** A connection is idle when nothing moves on it, however old it is. */
  async idle() {
    const agent = async () => {
      const pool = new http.Agent({ keepAlive: true, timeout: 600 })
      const seen = []
      const get = (path) =>
        new Promise((resolve) => {
          const sent = http.get(base + path, { agent: pool }, (response) => {
            response.on('data', () => undefined)
            response.on('end', () => resolve(seen.push(`${path} ended`)))
          })
          sent.on('timeout', () => {
            resolve(seen.push(`${path} timed out`))
            sent.destroy()
          })
          sent.on('error', () => undefined)
        })
      // Lasts longer than the limit, but is never silent for so long.
      await get('/chunks?count=20&gapMs=60')
      await get('/hang-mid-body')
      pool.destroy()
      return seen
    }
    const native = await agent()
    const { output, run } = await record(options, agent)
    return { native, recorded: output, replayed: (await replay(run.path, agent)).output }
  },

  /** Connections and processes that were made in a run and are used when it is over. */
  async outliving() {
    const get = async (x) => {
      const { body } = await request(`${base}/echo?x=${x}`)
      return (await body.json()).query
    }
    const askH2 = async (session) => {
      const stream = session.request({ ':path': '/echo?h2' })
      return JSON.parse((await stream.toArray()).join('')).query
    }
    const say = async (socket, text) => {
      socket.send(text)
      for (;;) {
        const [data] = await once(socket, 'message')
        if (JSON.parse(data).echo === text) return text
      }
    }
    let left
    const first = await record(options, async () => {
      const session = http2.connect(h2Base)
      const socket = new WebSocket(`${base.replace('http', 'ws')}/ws?pushes=0`)
      await once(socket, 'open')
      const child = spawn(process.execPath, ['-e', 'process.stdin.pipe(process.stdout)'])
      left = { session, socket, child }
      return [await get('in'), await askH2(session), await say(socket, 'in')]
    })
    const { session, socket, child } = left
    const after = [await get('after'), await askH2(session), await say(socket, 'after')]
    child.stdin.end('written after')
    after.push((await child.stdout.toArray()).join(''))
    session.close()
    const second = await record(options, async () => [
      await get('second'),
      await say(socket, 'second'),
    ])
    socket.close()
    return {
      in: first.output,
      after,
      second: second.output,
      notes: eventsOf(second.run.path)
        .filter(({ type }) => type === 'note')
        .map(({ name }) => name),
      status: [first, second].map(({ run }) => openTape(run.path).status),
    }
  },

  /** A client of the module, as in most servers. */
  async outsideConnection() {
    // Installs everything, as importing `retake` does.
    await record(options, () => {})
    const socket = new WebSocket(`${base.replace('http', 'ws')}/ws?pushes=0`)
    await once(socket, 'open')
    const { run } = await record(options, async () => {
      socket.send('first')
      socket.send('second')
      await once(socket, 'message')
    })
    socket.close()
    return eventsOf(run.path)
      .filter(({ type }) => type === 'note')
      .map(({ name, consequence, site }) => ({ name, consequence, hasSite: site !== undefined }))
  },

  /** Runs of one process hold the same events, whether they are its first or a later one. */
  async firstAndLater() {
    const agent = async () => {
      const data = await (await fetch(`${base}/echo`, { method: 'POST', body: 'x' })).json()
      await axios.post(`${base}/echo`, { x: 1 })
      const form = new FormData()
      form.append('a', 'b')
      await (await fetch(`${base}/upload`, { method: 'POST', body: form })).text()
      structuredClone({ a: 1 })
      await new Blob(['x']).text()
      await crypto.subtle.digest('SHA-256', new Uint8Array(1))
      return data.number > 0
    }
    const shapes = []
    for (let index = 0; index < 3; index++) {
      const { run } = await record(options, agent)
      shapes.push(
        eventsOf(run.path)
          .filter(({ type }) => type !== 'deliver')
          .map(({ type, kind, name }) => [type, kind, name].filter(Boolean).join(' ')),
      )
      await replay(run.path, agent)
    }
    return shapes
  },
}

const results = {}
for (const each of [story].flat()) results[each] = await stories[each]()
console.log(`\n${JSON.stringify(Array.isArray(story) ? results : results[story])}`)
process.exit()
