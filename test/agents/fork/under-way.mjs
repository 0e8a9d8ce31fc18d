// What can be under way at the moment a run goes live. Each story sets something
// up, waits for a decision (the step that is forked), and then goes on with it.
//
//     node under-way.mjs <story>
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import http from 'node:http'
import http2 from 'node:http2'
import net from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { tool } from '@retake/engine'
import { postHttp, postHttp2 } from './clients.mjs'

const base = process.env.AGENT_BASE_URL
const log = (...words) => console.log(...words)
const decide = tool('decide', () => sleep(30, 'recorded'))
const describe = (error) => `${error.name} ${error.code ?? error.cause?.code ?? ''}`.trim()

const stories = {
  /** Four answers on their way, over every seam. */
  async requests() {
    const agent = new http.Agent({ keepAlive: true })
    const session = http2.connect(process.env.AGENT_H2_URL)
    const slow = '/chunks?count=25&gapMs=20'
    const answers = [
      fetch(`${base}${slow}&by=fetch`).then((response) => response.text()),
      postHttp(agent, `${slow}&by=http`, {}).then(({ text }) => text),
      postHttp2(session, `${slow}&by=http2`, '').then(({ text }) => text),
      tool('slow', () => sleep(500, Math.random()))(),
    ]
    await sleep(60)
    log('decided', await decide())
    for (const answer of answers) log(await answer)
    log((await postHttp(agent, '/echo?after=http', {})).status)
    log((await postHttp2(session, '/echo?after=http2', 'x')).status)
    log((await fetch(`${base}/echo?after=fetch`)).status)
    session.close()
    agent.destroy()
  },

  /** Connections that were used before and wait for their next request. */
  async idle() {
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
    const session = http2.connect(process.env.AGENT_H2_URL)
    log((await postHttp(agent, '/echo?before=http', {})).status)
    log((await postHttp2(session, '/echo?before=http2', 'x')).status)
    log('decided', await decide())
    for (let again = 1; again <= 3; again++) {
      log((await postHttp(agent, `/echo?after=http${again}`, {})).status)
      log((await postHttp2(session, `/echo?after=http2${again}`, 'x')).status)
    }
    session.close()
    agent.destroy()
  },

  /** Connections that are about to open. */
  async connecting() {
    const opened = { http2: 0, tcp: 0 }
    const session = http2.connect(process.env.AGENT_H2_URL)
    session.on('connect', () => (opened.http2 += 1))
    const { port, hostname } = new URL(base)
    const socket = net.connect(Number(port), hostname)
    socket.on('connect', () => (opened.tcp += 1))
    log('decided', await tool('decide', () => 'recorded')(), opened.http2 + opened.tcp)
    while (opened.http2 + opened.tcp < 2) await sleep(5)
    await sleep(60)
    log('opened', opened.http2, opened.tcp)
    log((await postHttp2(session, '/echo?after=http2', 'x')).status)
    session.close()
    socket.destroy()
  },

  /** A request of which only the head has been written. */
  async upload() {
    const agent = new http.Agent({ keepAlive: true })
    const request = http.request(`${base}/upload`, { agent, method: 'PUT' })
    request.write('first half, ')
    await once(request, 'socket')
    log('decided', await decide())
    request.end('second half')
    const [response] = await once(request, 'response')
    let text = ''
    for await (const chunk of response) text += chunk
    log(JSON.parse(text).length)
    agent.destroy()
  },

  async websocket() {
    const { WebSocket } = await import('ws')
    const socket = new WebSocket(`${base.replace('http', 'ws')}/ws`)
    socket.on('error', (error) => log('error', error.code))
    const closed = once(socket, 'close')
    await once(socket, 'open')
    socket.send('one')
    const [first] = await once(socket, 'message')
    log('first', String(first).length > 0)
    log('decided', await decide())
    socket.send('two')
    const heard = once(socket, 'message').then(() => 'message')
    log(await Promise.race([heard, closed.then(([code]) => `closed ${code}`)]))
    socket.terminate()
  },

  /** A WebSocket that is about to open. */
  async handshake() {
    const { WebSocket } = await import('ws')
    const socket = new WebSocket(`${base.replace('http', 'ws')}/ws`)
    socket.on('error', () => {})
    const closed = once(socket, 'close').then(([code]) => `closed ${code}`)
    const heard = once(socket, 'message').then(() => 'message')
    heard.catch(() => {})
    await once(socket._req, 'finish')
    const decided = await tool('decide', () => 'recorded')()
    log('decided', decided)
    await once(socket, 'open').catch(() => {})
    socket.send('one')
    log(await (decided === 'recorded' ? heard : closed))
    socket.terminate()
  },

  /** A protocol that is not known: HTTP/2 by hand. */
  async opaque() {
    const server = new URL(process.env.AGENT_H2_URL)
    const socket = net.connect(Number(server.port), server.hostname)
    socket.on('error', (error) => log('error', error.code))
    const closed = once(socket, 'close')
    await once(socket, 'connect')
    socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
    socket.write(Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]))
    const [settings] = await once(socket, 'data')
    log('settings', settings.length > 0)
    const decided = await decide()
    log('decided', decided)
    if (decided === 'recorded') socket.destroy()
    await closed.catch(() => {})
    log('closed')
  },

  /** A process that answers each line it is told. */
  async child() {
    const echo = `process.stdin.on('data', (data) => process.stdout.write('heard ' + data))`
    const child = spawn(process.execPath, ['-e', echo])
    child.stdin.write('one\n')
    const [first] = await once(child.stdout, 'data')
    log('first', String(first).trim())
    log('decided', await decide())
    child.stdin.write('two\n')
    const closed = once(child, 'close').then(([code, signal]) => `closed ${code} ${signal}`)
    const heard = once(child.stdout, 'data').then(([data]) => String(data).trim())
    log(await Promise.race([heard, closed]))
    child.stdin.end()
    log(await closed)
  },

  /** A process that is told nothing: its end is on the tape. */
  async quietChild() {
    const child = spawn(process.execPath, ['-e', 'setTimeout(() => process.exit(5), 300)'])
    log('decided', await decide())
    log('closed', ...(await once(child, 'close')))
  },

  /** A process that outlives the recorded run. */
  async forgottenChild() {
    const child = spawn(process.execPath, ['-e', 'setTimeout(() => {}, 3000)'])
    const decided = await decide()
    log('decided', decided)
    if (decided === 'recorded') process.exit(0)
    log('closed', ...(await once(child, 'close')))
    log('kill', child.kill())
  },

  async worker() {
    const code = `const { parentPort } = require('node:worker_threads')
      parentPort.on('message', (text) => parentPort.postMessage('heard ' + text))`
    const worker = new Worker(code, { eval: true })
    worker.on('error', (error) => log('error', error.code))
    worker.postMessage('one', [])
    log(...(await once(worker, 'message')))
    log('decided', await decide())
    worker.postMessage('two', [])
    const exited = once(worker, 'exit').then(([code]) => `exited ${code}`)
    log(await Promise.race([once(worker, 'message').then(String), exited]))
    log('terminated', await worker.terminate())
  },

  /** Requests that are given up in time. */
  async abort() {
    const byTimeout = fetch(`${base}/hang`, { signal: AbortSignal.timeout(400) })
    const controller = new AbortController()
    const byHand = fetch(`${base}/hang?by=hand`, { signal: controller.signal })
    // Its head must have come by then, also where the machine is busy.
    const broken = fetch(`${base}/hang-mid-body`, { signal: AbortSignal.timeout(3000) })
    const request = http.get(`${base}/hang?by=http`, { timeout: 300 })
    request.on('timeout', () => request.destroy(new Error('too slow')))
    const overHttp = once(request, 'error')
    byTimeout.catch(() => {})
    byHand.catch(() => {})
    overHttp.catch(() => {})
    const response = await broken
    log('decided', await decide())
    controller.abort()
    log('by hand', await byHand.catch(describe))
    log('by timeout', await byTimeout.catch(describe))
    log('in the body', await response.text().catch(describe))
    log('over http', (await overHttp)[0].message)
  },

  async timers() {
    const seen = { ticks: 0 }
    const interval = setInterval(() => (seen.ticks += 1), 20)
    const later = sleep(1500, 'later')
    const cleared = setTimeout(() => log('never'), 1200)
    while (seen.ticks < 2) await sleep(5)
    log('decided', await decide())
    clearTimeout(cleared)
    const enough = seen.ticks + 5
    log(await later)
    while (seen.ticks < enough) await sleep(5)
    clearInterval(interval)
    log('ticked', seen.ticks >= enough)
  },

  /** The timer is older than the decision, and comes before the slow answer. */
  async race() {
    const timer = sleep(700, 'the timer')
    const slow = tool('slow', () => sleep(1000, 'the answer'))()
    await sleep(450)
    log('decided', await decide())
    log(await Promise.race([timer, slow]), 'was first')
    log(await slow)
  },

  async exits() {
    const decided = await decide()
    log('decided', decided)
    process.on('exit', (code) => log('exit', code))
    setTimeout(() => process.exit(decided === 'recorded' ? 0 : 7), 10)
    await sleep(1000)
  },

  async throws() {
    const decided = await decide()
    log('decided', decided)
    await fetch(`${base}/echo`)
    if (decided !== 'recorded') throw new RangeError(`no ${decided}`)
  },

  /** Answers a stream with an early end, as agents do that have read enough. */
  async enough() {
    const response = await fetch(`${base}/chunks?count=20&gapMs=10`)
    const reader = response.body.getReader()
    await reader.read()
    log('decided', await decide())
    await reader.read()
    await reader.cancel()
    log((await fetch(`${base}/echo?after=1`)).status)
  },
}

await stories[process.argv[2]]()
