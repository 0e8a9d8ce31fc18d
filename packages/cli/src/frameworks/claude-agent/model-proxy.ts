import { mkdirSync } from 'node:fs'
import path from 'node:path'
import { MessageChannel, receiveMessageOnPort, Worker } from 'node:worker_threads'
import { newRunId } from '@retake/engine'
import type { ProxyTask, ProxyWord } from './model-proxy-thread.js'

export interface ModelProxy {
  readonly url: string
  /** Of its tape, from the folder that holds the tape of the run. */
  readonly name: string
  /** Ends the recording and seals its tape, within two seconds. */
  readonly stop: () => void
}

/** How long a start and an end may take. */
const PATIENCE_MS = { start: 10_000, stop: 2000 }

/**
 * Starts a recording proxy in a thread of its own and waits for it: for the program
 * it takes no time, as on replay, where there is none. The thread keeps no process
 * alive.
 */
export function startModelProxy(options: {
  readonly upstream: string
  readonly runTape: string
  readonly number: number
}): ModelProxy | { readonly problem: string } {
  const { upstream, runTape, number } = options
  const run = path.basename(runTape, path.extname(runTape))
  const name = path.join(`${run}.claude`, `${number}.tape`)
  const { port1: port, port2: theirs } = new MessageChannel()
  const turn = new Int32Array(new SharedArrayBuffer(4))
  const task: ProxyTask = {
    upstream,
    tape: path.join(path.dirname(runTape), name),
    id: newRunId(),
    name: `claude of ${run}`,
    port: theirs,
    turn,
  }
  try {
    mkdirSync(path.dirname(task.tape), { recursive: true })
    const thread = new Worker(new URL('model-proxy-thread.js', import.meta.url), {
      workerData: task,
      transferList: [theirs],
      // Not under Retake, whatever the program itself was started with.
      execArgv: [],
      env: { ...process.env, NODE_OPTIONS: '' },
    })
    thread.unref()
    thread.on('error', () => {})
  } catch (error) {
    return { problem: String(error) }
  }
  Atomics.wait(turn, 0, 0, PATIENCE_MS.start)
  const word = receiveMessageOnPort(port)?.message as ProxyWord | undefined
  if (word === undefined) return { problem: 'the proxy did not start' }
  if ('problem' in word) return word
  return {
    url: word.url,
    name,
    stop: () => {
      port.postMessage('stop')
      Atomics.wait(turn, 0, 1, PATIENCE_MS.stop)
    },
  }
}
