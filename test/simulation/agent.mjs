import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { hashOf } from './seeded.mjs'
import { MODEL_URL } from './world.mjs'

const ATTEMPTS = 3

const KINDS = 'model model model stream tool tool draw sleep lookUp immediate'
/** What these come to depends on when answers arrive. */
const TIMED_KINDS = 'timeout race interval'

/** A random program: some lanes that run concurrently, then steps that need all of them. */
export function makeProgram(random) {
  const isTimed = random.chance(0.4)
  const kinds = `${KINDS} ${isTimed ? TIMED_KINDS : ''}`.trim().split(' ')
  const ops = (most) => Array.from({ length: random.between(1, most) }, () => makeOp(random, kinds))
  const lanes = Array.from({ length: random.pick([1, 2, 2, 3]) }, () => ops(2))
  // Something to fork at.
  lanes[0].push({ kind: random.pick(['model', 'tool']), ms: 5, hasId: false })
  return { isTimed, lanes, end: ops(1) }
}

const makeOp = (random, kinds) => ({
  kind: random.pick(kinds),
  ms: random.between(1, 300),
  hasId: random.chance(0.3),
})

/**
 * The agent itself: code that Retake records and runs again. Each question depends on the
 * answers so far, and a few of those change what is done at all. `changed`: another version
 * of the program, which differs from that operation of lane 0 on.
 */
export async function runAgent(program, { tools, changed }) {
  const order = []
  const drawn = []
  const see = (lane, what) => {
    order.push(`${lane} ${hashOf(JSON.stringify(what ?? null)).toString(36)}`)
    return what
  }
  const lane = new Lanes(see, drawn, tools)
  const seen = await Promise.all(
    program.lanes.map((ops, index) => lane.run(index, ops, [], index === 0 ? changed : undefined)),
  )
  const last = await lane.run('end', program.end, [hashOf(JSON.stringify(seen))], undefined)
  return { seen: [...seen, last], order, drawn }
}

class Lanes {
  constructor(see, drawn, tools) {
    this.see = see
    this.drawn = drawn
    this.tools = tools
  }

  async run(lane, ops, before, changed) {
    const history = before.map((text) => ({ role: 'user', content: `so far: ${text}` }))
    const seen = []
    for (const [at, op] of ops.entries()) {
      const version = changed !== undefined && at >= changed ? 2 : 1
      const what = this.see(lane, await this.do(op, { lane, at, version, history }))
      if (what !== undefined) seen.push(what)
      // What comes back decides what is done.
      if (typeof what === 'string' && hashOf(what) % 5 === 0)
        seen.push(this.see(lane, await this.call('extra', { lane, at, what })))
    }
    return seen
  }

  async do({ kind, ms, hasId }, context) {
    const { lane, at, version } = context
    switch (kind) {
      case 'model':
      case 'stream':
        return this.ask(context, { hasId, isStream: kind === 'stream' })
      case 'timeout':
        return this.ask(context, { hasId, isStream: ms % 2 === 0, timeoutMs: ms })
      case 'tool':
        return this.call(ms % 2 === 0 ? 'search' : 'send', {
          lane,
          at,
          version,
          after: tail(context),
        })
      case 'draw':
        this.drawn.push(Date.now(), Math.random(), randomUUID())
        return undefined
      case 'sleep':
        return void (await sleep(ms))
      case 'lookUp':
        return readFileSync(`/simulated/facts/${lane}-${at}.txt`, 'utf8')
      case 'immediate':
        return void (await new Promise((resolve) => setImmediate(resolve)))
      case 'race': {
        const asked = this.call('slow', { lane, at, version })
        return Promise.race([asked, sleep(ms / 2).then(() => 'too slow')])
      }
      case 'interval':
        return ticks(ms / 10, 3)
    }
  }

  async call(name, args) {
    try {
      return (await this.tools[name](args)).value
    } catch (error) {
      return `failed: ${error.message}`
    }
  }

  /** Asks the model, again after a failure, and goes on with the conversation. */
  async ask({ lane, at, version, history }, { hasId, isStream, timeoutMs }) {
    history.push({ role: 'user', content: `question ${at} of lane ${lane}, version ${version}` })
    for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
      const body = {
        model: 'simulated',
        messages: [{ role: 'system', content: `You are lane ${lane}.` }, ...history],
        user: `attempt ${attempt}`,
        ...(isStream && { stream: true }),
        ...(hasId && { request_id: randomUUID() }),
      }
      try {
        const text = await request(body, timeoutMs)
        history.push({ role: 'assistant', content: text })
        return text
      } catch (error) {
        this.see(lane, `${error.name} ${error.message} ${error.cause?.code}`)
        if (attempt < ATTEMPTS) await sleep(20 * attempt)
      }
    }
    return 'gave up'
  }
}

const tail = ({ history }) => history.at(-1)?.content ?? ''

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

const ticks = (ms, count) =>
  new Promise((resolve) => {
    let ticked = 0
    const interval = setInterval(() => {
      ticked += 1
      if (ticked < count) return
      clearInterval(interval)
      resolve(`${count} ticks`)
    }, ms)
  })

async function request(body, timeoutMs) {
  const controller = timeoutMs === undefined ? undefined : new AbortController()
  const timer = controller && setTimeout(() => controller.abort(new Error('timed out')), timeoutMs)
  try {
    const response = await fetch(MODEL_URL, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
      ...(controller && { signal: controller.signal }),
    })
    if (!response.ok) throw new Error(`status ${response.status}`)
    return body.stream ? await readStream(response) : textOf(await response.json())
  } finally {
    clearTimeout(timer)
  }
}

const textOf = ({ choices }) => choices[0].message.content

async function readStream(response) {
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of response.body) text += decoder.decode(chunk, { stream: true })
  const frames = text.split('\n\n').filter((line) => line.startsWith('data: {'))
  if (!text.includes('[DONE]')) throw new Error('the stream ended early')
  return frames.map((line) => JSON.parse(line.slice(6)).choices[0].delta.content ?? '').join('')
}
