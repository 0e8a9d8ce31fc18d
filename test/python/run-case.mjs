import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { dirname, join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { makeWorkspace } from '../support/run-retake.mjs'
import { QUIET } from './cases.mjs'

const here = dirname(fileURLToPath(import.meta.url))
const timeoutMs = 300_000

/**
 * Records a Python agent against a model server in another process, stops that,
 * replays it several times and looks at what the tape tells.
 *
 * @param {import('./cases.mjs').PythonCase} given
 * @param {string} python
 * @param {(title: string, check: () => Promise<unknown>) => Promise<void>} test
 */
export async function runCase(given, python, test) {
  const workspace = await makeWorkspace()
  const { replays = 5 } = given
  let recorded
  try {
    await test('is recorded with one command, and asks nobody else', async () => {
      const server = await startServer(given.steps.map(({ answer }) => answer))
      const command = [python, resolve(here, given.environment, given.agent)]
      const env = { ...agentEnvironment(workspace.folder), ...given.variables?.(server.url) }
      // Where the variables are not set, the upstream says that it is not the public address.
      const upstreams = ['openai', 'anthropic', 'gemini'].flatMap((name) =>
        env[`${name.toUpperCase()}_API_BASE`] || env[`${name.toUpperCase()}_BASE_URL`]
          ? []
          : ['--upstream', `${name}=${server.url}`],
      )
      recorded = await workspace.retake(['record', ...upstreams, '--', ...command], {
        env,
        timeoutMs,
      })
      const left = await server.stop()
      assert.equal(recorded.code, 0, recorded.stderr)
      assert.notEqual(recorded.stdout, '')
      assert.deepEqual(left, { requests: given.steps.length, unused: 0 })
      assert.deepEqual(hostsAsked(recorded), [])
    })
    if (recorded?.code !== 0) return
    await test(`repeats itself ${replays} times with the model server gone`, async () => {
      for (let time = 0; time < replays; time++) {
        const replayed = await workspace.retake(['replay', 'last'], { timeoutMs })
        assert.equal(replayed.stdout, recorded.stdout, replayed.stderr)
        assert.match(
          replayed.stderr,
          new RegExp(`identical · ${given.steps.length} requests? served`),
        )
        assert.equal(replayed.code, 0, replayed.stderr)
        assert.deepEqual(hostsAsked(replayed), [])
      }
    })
    await test('shows its steps with provider, model, tokens and tools', async () => {
      const shown = await workspace.retake(['show', 'last', '--json'])
      assert.deepEqual(JSON.parse(shown.stdout).steps.map(factsOf), given.steps.flatMap(expected))
    })
  } finally {
    await workspace.remove()
  }
}

/** What is checked of a step of `retake show --json`. */
function factsOf({ kind, title, provider, model, usage }) {
  if (kind !== 'model') return { kind, title }
  // Providers answer with the dated name of what was asked for.
  const name = model.replace(/-\d{4}-\d\d-\d\d$/, '')
  return { kind, provider, model: name, input: usage?.input, output: usage?.output }
}

/** @param {import('./cases.mjs').Expected} step */
function expected({ provider, model, answer, hidesUsage = false }) {
  const { input, output } = hidesUsage ? {} : answer.usage
  const tools = answer.toolCalls ?? []
  return [
    { kind: 'model', provider, model, input, output },
    ...tools.map(({ name, args }) => ({ kind: 'tool', title: `${name}(${JSON.stringify(args)})` })),
  ]
}

/** Keys open nothing; connections that would leave the machine are refused and named. */
const agentEnvironment = (folder) => ({
  ...QUIET,
  ...Object.fromEntries(
    ['OPENAI', 'ANTHROPIC', 'GEMINI', 'GROQ', 'MISTRAL', 'OPENROUTER'].map((name) => [
      `${name}_API_KEY`,
      `made-up-${name.toLowerCase()}-key`,
    ]),
  ),
  PYTHONPATH: join(here, 'guard'),
  NETWORK_GUARD: 'on',
  // CrewAI keeps its databases there.
  CREWAI_STORAGE_DIR: join(folder, 'storage'),
})

/** Hosts that the program tried to reach past the proxy: see guard/sitecustomize.py. */
const hostsAsked = ({ stderr }) =>
  [...stderr.matchAll(/^network guard: (.*)$/gm)].map(([, host]) => host)

/** @param {readonly import('@retake/engine/testing').ScriptedAnswer[]} answers */
async function startServer(answers) {
  const program = join(here, 'model-server-process.mjs')
  const child = spawn(process.execPath, [program, JSON.stringify(answers)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const nextLine = async () => JSON.parse((await lines.next()).value)
  const { url } = await nextLine()
  const stop = async () => {
    const ended = once(child, 'close')
    child.stdin.end()
    const left = await nextLine()
    await ended
    return left
  }
  return { url, stop }
}
