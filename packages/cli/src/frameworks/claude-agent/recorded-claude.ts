import { currentRecording, outsideRuns } from '@retake/engine'
import type { Recording } from '@retake/engine'
import { requireVersion } from '../supported-version.js'
import { startModelProxy } from './model-proxy.js'

type Environment = Readonly<Record<string, string | undefined>>

/** Where Claude Code asks unless it is told otherwise. */
const ANTHROPIC = 'https://api.anthropic.com'

/** With one of these it asks a cloud provider, whose requests are signed for its own address. */
const OTHER_CLOUDS = [
  'CLAUDE_CODE_USE_BEDROCK',
  'CLAUDE_CODE_USE_VERTEX',
  'CLAUDE_CODE_USE_FOUNDRY',
]

const isOn = (value = ''): boolean => /^(1|true|yes|on)$/i.test(value.trim())

const MARK = 'claude-agent'

/**
 * Options for `query()` of the Claude Agent SDK that let the model calls of its
 * subprocess be seen: `query({ prompt, options: recordedClaude({ … }) })`.
 *
 * The subprocess itself is recorded and replayed without this. Here its requests go
 * through a proxy that writes them to a tape of their own, in a folder beside the
 * tape of the run; a mark in the run names it. In a replay, and outside of runs,
 * the options are handed back as they are and no proxy is started.
 */
export function recordedClaude<O extends object>(options: O = {} as O): O {
  requireVersion({ package: '@anthropic-ai/claude-agent-sdk', from: '0.3', to: '0' })
  const recording = currentRecording()
  if (recording === undefined) return options
  // The program has not read all of it: Retake copies it, as Node would.
  const env =
    (options as { readonly env?: Environment }).env ?? outsideRuns(() => ({ ...process.env }))
  const cloud = OTHER_CLOUDS.find((variable) => isOn(env[variable]))
  if (cloud !== undefined) {
    recording.mark(MARK, `its model calls are not recorded: ${cloud} is set`)
    return options
  }
  const url = proxyTo(env['ANTHROPIC_BASE_URL'] ?? ANTHROPIC, recording)
  return url === undefined ? options : { ...options, env: { ...env, ANTHROPIC_BASE_URL: url } }
}

/** Proxies of a run, by where they lead; undefined for one that could not be started. */
const proxies = new WeakMap<Recording, Map<string, string | undefined>>()

function proxyTo(upstream: string, recording: Recording): string | undefined {
  const ofRun = proxies.get(recording) ?? new Map<string, string | undefined>()
  proxies.set(recording, ofRun)
  if (ofRun.has(upstream)) return ofRun.get(upstream)
  const started = outsideRuns(() =>
    startModelProxy({ upstream, runTape: recording.tape, number: ofRun.size + 1 }),
  )
  if ('problem' in started) {
    recording.mark(MARK, `its model calls are not recorded: ${started.problem}`)
    ofRun.set(upstream, undefined)
    return undefined
  }
  recording.onEnd(started.stop)
  recording.mark(MARK, `its model calls are on ${started.name}, beside this tape`)
  ofRun.set(upstream, started.url)
  return started.url
}
