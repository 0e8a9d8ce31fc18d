/** `retake/claude-agent`: records the model calls of the Claude Agent SDK's subprocess. */
import { currentRecording, outsideRuns, type Recording } from '@retake/engine'
import { newRunId } from '@retake/engine/runs'
import { requireVersion } from './adapter.js'
import { mkdirSync } from 'node:fs'
import path from 'node:path'
import { MessageChannel, receiveMessageOnPort, Worker } from 'node:worker_threads'
import type { ProxyTask, ProxyMessage } from './model-proxy-thread.js'
import { cliEntry } from '../package-root.js'

/** Time limits for starting and stopping. */
const PATIENCE_MS = { start: 10_000, stop: 2000 }

/**
 * Starts a recording proxy in another thread and waits for it synchronously: for the program this
 * takes no time, as on replay, where there is no proxy. The thread does not keep the process alive.
 * `stop` ends the recording and seals its tape.
 */
function startModelProxy(
  recorded: Omit<ProxyTask, 'port' | 'turn'>,
): { readonly url: string; readonly stop: () => void } | { readonly problem: string } {
  const { port1: port, port2: theirs } = new MessageChannel()
  const turn = new Int32Array(new SharedArrayBuffer(4))
  const task: ProxyTask = { ...recorded, port: theirs, turn }
  try {
    mkdirSync(path.dirname(task.tape), { recursive: true })
    const thread = new Worker(cliEntry('model-proxy-thread'), {
      workerData: task,
      transferList: [theirs],
      // Not under Retake, even if the program itself is.
      execArgv: [],
      env: { ...process.env, NODE_OPTIONS: '' },
    })
    thread.unref()
    thread.on('error', () => {})
  } catch (error) {
    return { problem: String(error) }
  }
  Atomics.wait(turn, 0, 0, PATIENCE_MS.start)
  const word = receiveMessageOnPort(port)?.message as ProxyMessage | undefined
  if (word === undefined) return { problem: 'the proxy did not start' }
  if ('problem' in word) return word
  const stop = (): void => {
    port.postMessage('stop')
    Atomics.wait(turn, 0, 1, PATIENCE_MS.stop)
  }
  return { url: word.url, stop }
}

/** Selects a cloud provider, whose requests are signed for its own address. */
const OTHER_CLOUDS = [
  'CLAUDE_CODE_USE_BEDROCK',
  'CLAUDE_CODE_USE_VERTEX',
  'CLAUDE_CODE_USE_FOUNDRY',
]

const MARK = 'claude-agent'

/**
 * Options for `query()` of the Claude Agent SDK that record the model calls of its subprocess:
 * `query({ prompt, options: recordedClaude({ … }) })`.
 *
 * The subprocess itself is recorded and replayed without this. With it, its requests go through a
 * proxy that writes them to a separate tape, in a folder beside the tape of the run; a mark in the
 * run names that tape. During replay and outside of runs, returns the options unchanged and starts
 * no proxy.
 */
export function recordedClaude<O extends object>(options: O = {} as O): O {
  requireVersion({ package: '@anthropic-ai/claude-agent-sdk', from: '0.3', to: '0' })
  const recording = currentRecording()
  if (recording === undefined) return options
  // Copied outside of the run, because the program itself did not read all variables.
  const env =
    (options as { readonly env?: NodeJS.ProcessEnv }).env ?? outsideRuns(() => ({ ...process.env }))
  const cloud = OTHER_CLOUDS.find((name) => /^(1|true|yes|on)$/i.test(env[name]?.trim() ?? ''))
  if (cloud !== undefined) {
    recording.mark(MARK, `its model calls are not recorded: ${cloud} is set`)
    return options
  }
  const url = proxyTo(env['ANTHROPIC_BASE_URL'] ?? 'https://api.anthropic.com', recording)
  return url === undefined ? options : { ...options, env: { ...env, ANTHROPIC_BASE_URL: url } }
}

/** Proxies of a run, by target; undefined for one that could not be started. */
const proxies = new WeakMap<Recording, Map<string, string | undefined>>()

function proxyTo(upstream: string, recording: Recording): string | undefined {
  const ofRun = proxies.get(recording) ?? new Map<string, string | undefined>()
  proxies.set(recording, ofRun)
  if (ofRun.has(upstream)) return ofRun.get(upstream)
  const run = path.basename(recording.tape, path.extname(recording.tape))
  const name = path.join(`${run}.claude`, `${ofRun.size + 1}.tape`)
  const started = outsideRuns(() =>
    startModelProxy({
      upstream,
      tape: path.join(path.dirname(recording.tape), name),
      id: newRunId(),
      name: `claude of ${run}`,
    }),
  )
  const url = 'url' in started ? started.url : undefined
  ofRun.set(upstream, url)
  if ('problem' in started)
    recording.mark(MARK, `its model calls are not recorded: ${started.problem}`)
  else {
    recording.onEnd(started.stop)
    recording.mark(MARK, `its model calls are on ${name}, beside this tape`)
  }
  return url
}
