/**
 * Runs in its own thread inside a replayed process, and forwards messages of the DevTools protocol
 * between the main thread's inspector and a pipe. Its event loop continues while the main thread is
 * paused. If the pipe closes, nothing could ever resume the process, so the process ends.
 */
import { Session } from 'node:inspector'
import { Socket } from 'node:net'
import { createInterface } from 'node:readline'
import { parentPort, workerData } from 'node:worker_threads'
import { SLOT, STATE, type InspectorThreadData } from './shared-slots.js'

interface Message {
  readonly id: number
  readonly method: string
  readonly params?: { readonly wanted?: number; readonly wantedDelivery?: number }
}

const { fd, slots } = workerData as InspectorThreadData
const pipe = new Socket({ fd, readable: true, writable: true })
const send = (message: object): void => void pipe.write(`${JSON.stringify(message)}\n`)

const session = new Session()
session.connectToMainThread()
session.on('inspectorNotification', (message) => {
  const { method, params } = message as { method: string; params: Record<string, unknown> }
  // The script that is about to run, with its source map again.
  if (method === 'Debugger.paused') delete params['data']
  if (method !== 'Debugger.scriptParsed') return send(message)
  // Hundreds of messages arrive together; only these fields are needed.
  const { scriptId, url, sourceMapURL } = params
  send({ method, params: { scriptId, url, sourceMapURL } })
})
parentPort?.on('message', (message: { readonly method: string }) => {
  if (message.method !== 'Retake.ending') return send(message)
  // Notifications that the inspector has queued for this thread arrive within a turn.
  setImmediate(() => setImmediate(() => pipe.write('\n', () => enter(STATE.running))))
})

const enter = (state: number): void => {
  Atomics.store(slots, SLOT.state, state)
  Atomics.notify(slots, SLOT.state)
}

const own: Readonly<Record<string, (params: NonNullable<Message['params']>) => void>> = {
  'Retake.want': ({ wanted, wantedDelivery }) => {
    if (wanted !== undefined) Atomics.store(slots, SLOT.wanted, wanted)
    if (wantedDelivery !== undefined) Atomics.store(slots, SLOT.wantedDelivery, wantedDelivery)
  },
  'Retake.attend': () => enter(STATE.attending),
  'Retake.pause': () => enter(STATE.pausing),
  'Retake.release': () => enter(STATE.running),
}

const endProcess = (): void => void process.kill(process.pid, 'SIGKILL')
pipe.on('error', endProcess)
pipe.on('close', endProcess)
createInterface({ input: pipe, crlfDelay: Infinity }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line) as Message
  const perform = own[method]
  if (perform) {
    perform(params ?? {})
    send({ id, result: {} })
  } else {
    session.post(method, params, (error, result) => {
      send(error ? { id, error: { message: error.message } } : { id, result })
    })
  }
})
