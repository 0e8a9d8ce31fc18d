import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { openTape } from '@retake/tape/node'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Provider, startProvider } from '../support/loopback-provider.mjs'
import { copyAgents, linkModules, runLibrary, runTask } from '../support/run-library.mjs'
import { agentPath, makeWorkspace, type Workspace } from '../support/run-retake.mjs'

let provider: Provider
beforeAll(async () => {
  provider = await startProvider({ maxLatencyMs: 4 })
})
afterAll(() => provider.close())

/** Runs `work` in a folder of its own. */
async function inWorkspace<T>(work: (workspace: Workspace) => Promise<T>): Promise<T> {
  const workspace = await makeWorkspace()
  try {
    return await work(workspace)
  } finally {
    await workspace.remove()
  }
}

type Seen = Readonly<Record<string, unknown>>

const tellApi = <T>(
  story: string | readonly string[],
  env: Readonly<Record<string, string>> = {},
) =>
  inWorkspace(async ({ folder }) => {
    const program = agentPath('library/api.mjs')
    const task = { story, base: provider.url, h2Base: provider.h2Url }
    const { result } = await runLibrary(program, task, { cwd: folder, env })
    return result as T
  })

/** Stories that leave nothing behind share a process, one after the other. */
const TOGETHER = ['output', 'divergence', 'nested', 'context', 'tools']
let together: Promise<Readonly<Record<string, Seen>>> | undefined

/** Runs one story of `api.mjs` and gives what it saw. */
async function tell(story: string, env?: Readonly<Record<string, string>>): Promise<Seen> {
  if (!TOGETHER.includes(story)) return tellApi<Seen>(story, env)
  together ??= tellApi(TOGETHER)
  return (await together)[story] ?? {}
}

describe('record and replay', () => {
  test('give the output, and the run that was written', async () => {
    const seen = await tell('output')
    expect(seen['run']).toMatchObject({ name: 'story' })
    expect(seen).toMatchObject({ status: 'sealed', scope: 'function', nothing: [true, true] })
    expect(seen['replayed']).toEqual({
      output: seen['output'],
      divergences: [],
      digest: expect.any(String) as string,
      placeholders: [],
    })
    const [recorded, replayed] = seen['synchronous'] as number[]
    expect(replayed).toBe(recorded)
  })

  test('throw the error of the agent, which is on the tape', async () => {
    expect(await tell('error')).toMatchObject({
      isSame: true,
      end: {
        class: 'Refused',
        message: 'no',
        code: 'E_REFUSED',
        cause: { class: 'TypeError', message: 'inner' },
      },
      other: [true, [{ field: 'error', recorded: 'no', current: 'never' }]],
      otherClass: [
        { field: 'error class', recorded: 'Refused', current: 'TypeError' },
        { field: 'error code', recorded: 'E_REFUSED' },
      ],
    })
  })

  test('report where a changed function does something else', async () => {
    expect(await tell('divergence')).toMatchObject({
      isDiverged: true,
      isError: true,
      name: 'ReplayDiverged',
      code: 'REPLAY_DIVERGED',
      hasFix: true,
      divergence: { seq: 1, kind: 'different', mismatches: [{ field: 'url' }] },
    })
  })

  test('report a divergence once and leave no rejection that could end the process', async () => {
    expect(await tell('divergenceInBackground')).toEqual({ seq: 2, unhandled: 0 })
  })

  test('are refused inside a run', async () => {
    expect(await tell('nested')).toEqual({
      recordInRecord: 'RUN_INSIDE_RUN',
      replayInRecord: 'RUN_INSIDE_RUN',
      replayed: 'RUN_INSIDE_RUN',
      afterwards: 2,
    })
  })

  test('have the same events in the first run of a process as in a later one', async () => {
    const shapes = (await tell('firstAndLater')) as unknown as string[][]
    const [first, ...later] = shapes.map((shape) => shape.toSorted())
    for (const shape of later) expect(shape).toEqual(first)
    expect(first).toContain('request')
  })

  test('leave work that outlives the run to Node', async () => {
    const seen = await tell('pending')
    expect(seen).toMatchObject({
      output: 'early',
      values: ['chunk 0;chunk 1;chunk 2;', 'slept', 'done', true],
      isTapeClosed: true,
      status: 'sealed',
      ticked: true,
      isCleared: true,
    })
  })
})

test('the AsyncLocalStorage of the agent is preserved across every boundary', async () => {
  const all = [true, true, true, true]
  expect(await tell('context')).toEqual({ recorded: all, replayed: all })
})

test('a connection times out in a run as it would without one', async () => {
  const expected = ['/chunks?count=20&gapMs=60 ended', '/hang-mid-body timed out']
  expect(await tell('idle')).toEqual({ native: expected, recorded: expected, replayed: expected })
})

test('resources opened in a run keep working afterwards, and are reported when another run uses them', async () => {
  expect(await tell('outliving')).toMatchObject({
    in: ['?x=in', '?h2', 'in'],
    after: ['?x=after', '?h2', 'after', 'written after'],
    second: ['?x=second', 'second'],
    notes: expect.arrayContaining(['shared connection']) as string[],
    status: ['sealed', 'sealed'],
  })
})

test('a run that uses a connection from outside of it says once that this is not captured', async () => {
  expect(await tell('outsideConnection')).toEqual([
    { name: 'shared connection', consequence: 'answers-missing', hasSite: true },
  ])
})

test('a tool runs outside runs and when recorded, and is never executed on replay', async () => {
  const seen = await tell('tools')
  expect(seen).toMatchObject({
    executedOutside: 1,
    executedInRecording: 3,
    executedInReplay: 0,
    isSame: true,
    names: ['tool add', 'tool add', 'tool add'],
    draws: 0,
  })
  const results = seen['results'] as number[]
  expect(new Set(results).size).toBe(3)
})

describe('a process with Retake but without an active run', () => {
  const observe = (mode: string) =>
    inWorkspace(async ({ folder }) => {
      const program = agentPath('library/native-behaviour.mjs')
      const { result } = await runLibrary(program, mode, { cwd: folder })
      return result
    })

  test('behaves like Node, after runs too', async () => {
    const native = await observe('plain')
    expect(Object.keys(native as object).length).toBeGreaterThan(50)
    for (const mode of ['imported', 'installed', 'after runs']) {
      expect(await observe(mode), mode).toEqual(native)
    }
  })

  test('has functions that look native, and gets the native ones back', async () => {
    const seen = await inWorkspace(async ({ folder }) => {
      const program = agentPath('library/installed.mjs')
      return (await runLibrary(program, null, { cwd: folder })).result
    })
    expect(seen).toMatchObject({
      different: [],
      notRestored: [],
      namedImportsReplaced: [true, true, true],
      namedImportsRestored: [true, true, true],
    })
    const { replaced } = seen as { replaced: string[] }
    expect(replaced).toEqual(
      expect.arrayContaining(['globalThis Date', 'globalThis fetch', 'crypto randomUUID']),
    )
  })
})

describe('secrets', () => {
  /** Made now: no key stands in a file. */
  const newKey = () => `test-${randomBytes(18).toString('hex')}`

  const lastLine = (text: string): unknown => JSON.parse(text.trim().split('\n').at(-1) ?? '')

  /** Everything that can be read off a tape: its bytes, its events and its bodies. */
  function textOf(path: string): string {
    const tape = openTape(path)
    const decoded = [...tape.events()].map(
      (event) => JSON.stringify(event) + Buffer.from(tape.body(event.seq)).toString('latin1'),
    )
    return [readFileSync(path, 'latin1'), ...decoded].join('\n')
  }

  test('an API key and cookies are never on tape, wherever the agent puts them', async () => {
    await inWorkspace(async ({ folder }) => {
      const task = { agent: agentPath('library/secret-agent.mjs'), base: provider.url }
      const key = newKey()
      const recorded = await runTask(
        { mode: 'record', dir: folder, ...task },
        { cwd: folder, env: { MODEL_API_KEY: key } },
      )
      const output = recorded.result.output as { key: string; cookies: string[] }
      // The agent that is recorded has the real ones.
      expect(output.key).toBe(key)
      expect(JSON.stringify(provider.requests)).toContain(key)
      const cookies = output.cookies.map((cookie) => cookie.split('=')[1] ?? '')
      expect(cookies[0]).toMatch(/^\w{24}$/)

      const tape = recorded.result.run?.path ?? ''
      const text = textOf(tape)
      for (const secret of [key, ...cookies]) expect(text).not.toContain(secret)
      expect(text).toContain('retake-hidden')

      // With another key it asks the same, so far as the tape can tell.
      const replayed = await runTask(
        { mode: 'replay', tape, ...task },
        { cwd: folder, env: { MODEL_API_KEY: newKey() } },
      )
      expect(replayed.result).toMatchObject({ divergences: [] })
    })
  })

  test('a key in an error message is not on tape, and the error still matches', async () => {
    const key = newKey()
    expect(await tell('secretInError', { MODEL_API_KEY: key })).toEqual({
      messages: [`gave up on ${key}`, `gave up on ${key}`],
      isOnTape: false,
    })
  })

  test('a program replays the same without its key in the environment', async () => {
    await inWorkspace(async (workspace) => {
      const { folder } = workspace
      await linkModules(folder)
      await copyAgents(folder, ['library/secret-agent.mjs', 'library/secret-main.mjs'])
      const key = newKey()
      const recorded = await workspace.retake(['record', '--json', 'secret-main.mjs'], {
        env: { MODEL_API_KEY: key, AGENT_BASE_URL: provider.url },
      })
      expect(recorded.code, recorded.stderr).toBe(0)
      const { tape } = lastLine(recorded.stderr) as { tape: string }
      const output = lastLine(recorded.stdout) as { key: string; cookies: string[] }
      expect(output.key).toBe(key)
      const text = textOf(tape)
      const secrets = [key, ...output.cookies.map((cookie) => cookie.split('=')[1] ?? '')]
      for (const secret of secrets) expect(text).not.toContain(secret)

      const replayed = await workspace.replay()
      expect(replayed.code, replayed.stderr).toBe(0)
      expect(replayed.waysOut).toEqual({})
      // Where the secrets were, it printed something of the same length.
      expect(replayed.stdout).not.toContain(key)
      expect(replayed.stdout.length).toBe(recorded.stdout.length)
    })
  })
})
