import { spawnSync } from 'node:child_process'
import { copyFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startModelServer } from '@retake/engine/testing'
import { afterEach, expect, test } from 'vitest'
import { run } from '../support/run-retake.mjs'
import { folderWith } from './workspace.js'
import { isSoak, repetitions, sampled } from '../support/soak.js'

const sources = fileURLToPath(new URL('../languages/', import.meta.url))

interface Language {
  readonly file: string
  /** What tells whether it is installed. */
  readonly version: readonly [string, ...string[]]
  readonly build?: readonly [string, ...string[]]
  readonly command: readonly [string, ...string[]]
}

/** Each asks for an answer whole and one streamed, with what its standard library has. */
const languages: Readonly<Record<string, Language>> = {
  curl: { file: 'agent.sh', version: ['curl', '--version'], command: ['sh', 'agent.sh'] },
  Go: {
    file: 'agent.go',
    version: ['go', 'version'],
    build: ['go', 'build', '-o', 'agent', 'agent.go'],
    command: ['./agent'],
  },
  Rust: {
    file: 'agent.rs',
    version: ['rustc', '--version'],
    build: ['rustc', 'agent.rs'],
    command: ['./agent'],
  },
  Java: {
    file: 'Agent.java',
    version: ['javac', '-version'],
    build: ['javac', 'Agent.java'],
    command: ['java', '-cp', '.', 'Agent'],
  },
}

const replays = repetitions('RETAKE_REPLAYS', { beforeMerge: 1, soak: 5 })

const isInstalled = ([program, ...args]: Language['version']): boolean =>
  spawnSync(program, args).status === 0

let stop: (() => Promise<void>) | undefined
afterEach(() => stop?.())

for (const [name, { file, version, build, command }] of sampled(
  Object.entries(languages),
  ([language]) => language === 'curl',
)) {
  test.skipIf(!isInstalled(version))(
    `a client in ${name} is recorded with one command and replays without the model`,
    async () => {
      const workspace = await folderWith({})
      await copyFile(join(sources, file), join(workspace.folder, file))
      const [compiler, ...args] = build ?? ['true']
      const built = await run(compiler, args, workspace.folder, {
        env: { GO111MODULE: 'off' },
      })
      expect(built, built.stderr).toMatchObject({ code: 0 })
      const usage = { input: 12, output: 5 }
      const server = await startModelServer({
        answers: [
          { text: 'Hello, who is there?', usage },
          { text: 'Déjà vu: “hello” twice.', usage },
        ],
      })
      stop = () => server.stop()
      const recorded = await workspace.retake(
        ['record', '--upstream', `openai=${server.url}`, '--', ...command],
        { env: { OPENAI_API_KEY: ['made', 'up', name].join('-') } },
      )
      await server.stop()
      expect(recorded, recorded.stderr).toMatchObject({ code: 0 })
      expect(recorded.stdout).toContain('who is there?')
      expect(recorded.stdout).toContain('[DONE]')
      expect(server.requests.map(({ stream }) => stream)).toEqual([false, true])
      for (let time = 0; time < replays; time++) {
        const replayed = await workspace.retake(['replay', 'last'])
        expect(replayed.stderr).toContain('identical · 2 requests served')
        expect(replayed).toMatchObject({ code: 0, stdout: recorded.stdout })
      }
      const shown = await workspace.retake(['show', 'last', '--json'])
      const { steps } = JSON.parse(shown.stdout) as { steps: Record<string, unknown>[] }
      expect(steps).toMatchObject([
        { kind: 'model', provider: 'openai', usage },
        { kind: 'model', provider: 'openai' },
      ])
    },
  )
}

test.runIf(isSoak && isInstalled(['curl', '--version']))(
  'the example for curl is recorded and replays',
  async () => {
    const workspace = await folderWith({})
    const server = await startModelServer({ answers: [{ text: 'A tape keeps what happened.' }] })
    stop = () => server.stop()
    const script = fileURLToPath(new URL('../../examples/curl/agent.sh', import.meta.url))
    const recorded = await workspace.retake(
      ['record', '--upstream', `openai=${server.url}`, '--', 'sh', script],
      { env: { OPENAI_API_KEY: ['made', 'up'].join('-') } },
    )
    await server.stop()
    expect(recorded.stdout).toMatch(/tape[^]*\[DONE\]/)
    const replayed = await workspace.retake(['replay', 'last'])
    expect(replayed).toMatchObject({ code: 0, stdout: recorded.stdout })
  },
)
