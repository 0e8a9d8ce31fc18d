import { spawnSync } from 'node:child_process'
import { createHash, randomUUID } from 'node:crypto'
import { cp, mkdir, readdir, readFile, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, test } from 'vitest'
import { findNode } from '../../scripts/find-node.mjs'
import { findPackage } from '../../scripts/find-package.mjs'
import { pythonEnvironment } from '../../scripts/python-environment.mjs'
import { cli } from '../cli/workspace.js'
import { feed } from '../support/feed.mjs'
import { startProvider } from '../support/loopback-provider.mjs'
import { startPostgres } from '../support/postgres.mjs'
import { startRedis } from '../support/redis.mjs'
import { type Finished, makeWorkspace, run } from '../support/run-retake.mjs'
import { repetitions, sampled } from '../support/soak.js'
import { type Need, type Program, programs, sampledPrograms } from './programs.js'

const REPLAYS = repetitions('RETAKE_REPLAYS', { beforeMerge: 1, soak: 5 })

/** Oldest Node that has `node:sqlite`, and for which better-sqlite3 ships binaries in its package. */
const SQLITE_NODE = '22'
const BETTER_SQLITE3 = ['better-sqlite3', '13.0.3'] as const
const BOTTLENECK = ['bottleneck', '2.19.5'] as const

const root = fileURLToPath(new URL('../../', import.meta.url))
const sources = fileURLToPath(new URL('../agents/everyday/', import.meta.url))

/** One row a program: what became of it. */
const table: { group: string; title: string; outcome: string; seconds: string }[] = []

for (const program of sampled(programs, ({ command }) =>
  sampledPrograms.has(command.at(-1) ?? ''),
)) {
  test(`${program.group}: ${program.title}`, async ({ skip }) => {
    expect(await tryOut(program, skip)).toMatch(/^identical|^refused/)
  })
}

async function tryOut(program: Program, skip: (reason: string) => never): Promise<string> {
  const started = performance.now()
  const row = (outcome: string): void => {
    const seconds = ((performance.now() - started) / 1000).toFixed(1)
    table.push({ group: program.group, title: program.title, outcome, seconds })
  }
  const missing: string[] = []
  for (const need of program.needs ?? []) missing.push(...(await unavailable(need)))
  if (missing.length > 0) {
    row(`skipped: ${missing.join(', ')}`)
    return skip(missing.join(', '))
  }
  row('FAILED')
  const outcome = await (program.refused ? refuse(program, program.refused) : repeat(program))
  table.pop()
  row(outcome)
  return outcome
}

afterAll(() => {
  const width = (key: 'group' | 'title'): number =>
    Math.max(...table.map((each) => each[key].length))
  const lines = table.map(
    ({ group, title, outcome, seconds }) =>
      `${group.padEnd(width('group'))}  ${title.padEnd(width('title'))}  ${outcome} (${seconds} s)`,
  )
  process.stdout.write(`\n${lines.join('\n')}\n\n`)
})

/** Records the program, stops everything outside, and replays it: identical every time. */
async function repeat(program: Program): Promise<string> {
  await using project = await setUp(program)
  const recorded = await project.record()
  expect(recorded.code, recorded.stderr).toBe(program.exitCode ?? 0)
  expect(recorded.stderr).not.toMatch(/not captured/)
  expect(recorded.stdout).not.toBe('')
  await project.stopOutside()
  const files = await digestOf(project.folder)
  for (let time = 1; time <= REPLAYS; time++) {
    const replayed = await project.replay()
    const talk = `replay ${time} of ${REPLAYS}\n${replayed.stderr}`
    expect(replayed.code, talk).toBe(program.exitCode ?? 0)
    // A terminal mixes what is typed with what is printed, and ends lines in its own way.
    if (!program.needs?.includes('terminal')) expect(replayed.stdout, talk).toBe(recorded.stdout)
    if (program.inProcess === undefined) expect(talk).toMatch(/\bidentical\b/)
    expect(await digestOf(project.folder), 'a replay changes no file').toEqual(files)
  }
  return `identical, ${REPLAYS} of ${REPLAYS} replays`
}

/** The recording names what it could not capture, and no replay claims more than it did. */
async function refuse(program: Program, reason: RegExp): Promise<string> {
  await using project = await setUp(program)
  const recorded = await project.record()
  expect(recorded.code, recorded.stderr).toBe(program.exitCode ?? 0)
  expect(recorded.stderr).toMatch(reason)
  const shown = await project.retake(['show', 'last', '--json'])
  const { notCaptured } = JSON.parse(shown.stdout) as { notCaptured: readonly { what: string }[] }
  expect(notCaptured.map(({ what }) => what).join(' ')).toMatch(reason)
  const strict = await project.record(['--strict'])
  expect(strict.code, strict.stderr).toBe(3)
  await project.stopOutside()
  const files = await digestOf(project.folder)
  for (let time = 1; time <= REPLAYS; time++) {
    const replayed = await project.replay(['last~1'])
    if (replayed.code === 0) expect(replayed.stdout).toBe(recorded.stdout)
    else expect(replayed.stderr).not.toMatch(/Undo the change/)
    expect(await digestOf(project.folder), 'a replay changes no file').toEqual(files)
  }
  return `refused when recorded: ${/[^\n]*not captured[^\n]*|[^\n]*listen[^\n]*/.exec(recorded.stderr)?.[0].trim()}`
}

interface Project extends AsyncDisposable {
  readonly folder: string
  retake(args: readonly string[]): Promise<Finished>
  record(options?: readonly string[]): Promise<Finished>
  replay(run?: readonly string[]): Promise<Finished>
  /** Ends the model and the databases. */
  stopOutside(): Promise<void>
}

async function setUp(program: Program): Promise<Project> {
  const { command, env = {}, needs = [], input, inProcess = false } = program
  const { folder, remove } = await makeWorkspace()
  await cp(sources, folder, { recursive: true })
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'))
  const provider = await startProvider()
  const stops: (() => Promise<unknown>)[] = [provider.close]
  const outside: Record<string, string> = {
    AGENT_BASE_URL: provider.url,
    AGENT_H2_URL: provider.h2Url,
    OPENAI_BASE_URL: `${provider.url}/v1`,
    OPENAI_API_KEY: 'none',
    ANTHROPIC_BASE_URL: provider.url,
    ANTHROPIC_API_KEY: 'none',
    ...env,
  }
  if (needs.includes('postgres')) {
    const database = await startPostgres({ password: `made-up-${randomUUID()}` })
    stops.push(database.stop)
    outside['DATABASE_URL'] = database.url
  }
  if (needs.includes('redis')) {
    const database = await startRedis()
    stops.push(database.stop)
    outside['REDIS_URL'] = database.url
  }
  const needsSqlite = needs.includes('node:sqlite') || needs.includes('better-sqlite3')
  const node = needsSqlite ? await findNode(SQLITE_NODE) : process.execPath
  for (const [name, version] of [BETTER_SQLITE3, BOTTLENECK]) {
    if (!needs.includes(name)) continue
    // Packages are also looked for beside the folder of the project.
    const modules = join(folder, '..', 'node_modules')
    await mkdir(modules)
    await symlink(await findPackage(name, version), join(modules, name))
  }
  const python = needs.includes('python') ? await findPython() : 'python'
  const words = command.map((word) => (word === 'python' ? python : word))
  if (program.prepare !== undefined) {
    const { status, stderr } = spawnSync('sh', ['-c', program.prepare], { cwd: folder })
    if (status !== 0) throw new Error(`${program.prepare}: ${String(stderr)}`)
  }
  // Node would load the modules of NODE_OPTIONS into the command that replays, too.
  const { NODE_OPTIONS: _, ...replayEnv } = env
  const start = (args: readonly string[], withOutside: boolean): Promise<Finished> =>
    run(node, args, folder, {
      env: withOutside ? outside : replayEnv,
      ...(withOutside && input !== undefined && { input }),
    })
  const record = async (options: readonly string[]): Promise<Finished> => {
    if (inProcess) return start([...words, 'record'], true)
    const args = [cli, 'record', ...options, ...words]
    if (!needs.includes('terminal')) return start(args, true)
    const line = [node, ...args].map((word) => `'${word}'`).join(' ')
    const pieces = (input ?? '').split(/(?<=\n)/)
    return withVariables(outside, async () => ({
      ...(await feed(['script', '-qec', line, '/dev/null'], { cwd: folder, pieces, gapMs: 400 })),
      signal: null,
    }))
  }
  const stopOutside = async (): Promise<void> => {
    for (const stop of stops.splice(0)) await stop()
  }
  return {
    folder,
    retake: (args) => start([cli, ...args], false),
    record: (options = []) => record(options),
    replay: (name = ['last']) =>
      start(inProcess ? [...words, 'replay'] : [cli, 'replay', ...name], inProcess),
    stopOutside,
    async [Symbol.asyncDispose]() {
      await stopOutside()
      await remove()
    },
  }
}

/** `feed` hands on the environment of this process. */
async function withVariables<Result>(
  variables: Readonly<Record<string, string>>,
  act: () => Promise<Result>,
): Promise<Result> {
  const before = { ...process.env }
  Object.assign(process.env, variables)
  try {
    return await act()
  } finally {
    for (const name of Object.keys(variables)) {
      if (before[name] === undefined) delete process.env[name]
      else process.env[name] = before[name]
    }
  }
}

/** Reasons why a program cannot run on this machine. */
async function unavailable(need: Need): Promise<string[]> {
  const reasonOf = (attempt: Promise<unknown>): Promise<string[]> =>
    attempt.then(
      () => [],
      (error: unknown) => [String(error).split('\n')[0] ?? ''],
    )
  if (need === 'python') return reasonOf(findPython())
  if (need === 'node:sqlite') return reasonOf(findNode(SQLITE_NODE))
  if (need === 'better-sqlite3')
    return reasonOf(Promise.all([findNode(SQLITE_NODE), findPackage(...BETTER_SQLITE3)]))
  if (need === 'bottleneck') return reasonOf(findPackage(...BOTTLENECK))
  const program = { redis: 'redis-server', terminal: 'script', postgres: process.execPath }[need]
  const { status } = spawnSync(program, ['--version'])
  return status === 0 ? [] : [`${program} is not installed`]
}

const findPython = (): Promise<string> =>
  pythonEnvironment('sdks', (text) => void process.stdout.write(`${text}\n`))

/** The digest of each file of the project, by path. */
async function digestOf(folder: string): Promise<Record<string, string>> {
  const digests: Record<string, string> = {}
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    if (!entry.isFile() || path.includes('/.retake/')) continue
    digests[path] = createHash('sha256')
      .update(await readFile(path))
      .digest('hex')
  }
  return digests
}
