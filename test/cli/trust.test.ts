import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, statSync } from 'node:fs'
import { cp, mkdir, writeFile, readdir } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { basename, join } from 'node:path'
import { newRunId } from '@retake/engine/runs'
import { isEnvironmentNote, readsOf } from '@retake/tape'
import type { EnvironmentRead, NewEvent, RunDetails } from '@retake/tape'
import { openTape, TapeWriter } from '@retake/tape/node'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { verbs } from '../../packages/cli/dist/verbs/index.js'
import { verbEntries } from '../../packages/runner/dist/command-line/find-verb.js'
import { feed } from '../support/feed.mjs'
import { makeWorkspace, type Workspace } from '../support/run-retake.mjs'
import { READS, STARTS, VERB_ARGUMENTS } from './verb-arguments.js'
import { cli, folderWith, smallAgent, tapesOf } from './workspace.js'
import { sampled, soakOnly } from '../support/soak.js'

/** Counts connections: code that a tape brings along gives itself away by one, also without permission to write. */
async function startBeacon() {
  let calls = 0
  const server = createServer((socket) => {
    calls += 1
    socket.destroy()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    code: `process.getBuiltinModule('net').connect(${port}, '127.0.0.1').on('error', () => {})`,
    take: (): number => {
      const found = calls
      calls = 0
      return found
    },
    stop: () => server.close(),
  }
}

/** Writes the tape of a finished run as somebody who wants to run code could. */
function plantTape(folder: string, details: RunDetails): string {
  const id = newRunId()
  const writer = TapeWriter.create(
    join(folder, `${id}.tape`),
    {
      type: 'run',
      id,
      name: 'planted',
      startedAt: Date.now(),
      scope: 'process',
      node: process.version,
    },
    details,
  )
  writer.append({ type: 'draw', kind: 'Date.now', value: 1 })
  writer.append({ type: 'end', exitCode: 1 })
  writer.seal()
  return id
}

describe('a run from elsewhere that is not trusted', () => {
  let workspace: Workspace
  let beacon: Awaited<ReturnType<typeof startBeacon>>
  const runs: Record<string, string> = {}

  beforeAll(async () => {
    beacon = await startBeacon()
    workspace = await makeWorkspace()
    const { folder } = workspace
    await mkdir(join(folder, '.retake/runs'), { recursive: true })
    await writeFile(join(folder, 'agent.mjs'), 'Date.now()\nprocess.exitCode = 1\n')
    await writeFile(join(folder, 'matcher.mjs'), `${beacon.code}\nexport default () => true\n`)
    const store = join(folder, '.retake/runs')
    const data = `data:text/javascript,${encodeURIComponent(beacon.code)}`
    const node = {
      entry: 'agent.mjs',
      args: [],
      cwd: folder,
      env: { PATH: process.env['PATH'] ?? '' },
    }
    const proxy = { port: 0, routes: [], variables: {} }
    runs['execArgv'] = plantTape(store, { ...node, execArgv: [`--import=${data}`] })
    runs['NODE_OPTIONS'] = plantTape(store, {
      ...node,
      env: { ...node.env, NODE_OPTIONS: `--import=${data}` },
    })
    const command = [process.execPath, '-e', `console.log('the command ran'); ${beacon.code}`]
    runs['command'] = plantTape(store, { command, cwd: folder, env: node.env, proxy })
    runs['matcher'] = plantTape(store, {
      cwd: folder,
      proxy: { ...proxy, matchers: ['./matcher.mjs'] },
    })
  })
  afterAll(async () => {
    beacon.stop()
    await workspace.remove()
  })

  test('every verb is in the list', () => {
    const commands = verbEntries(verbs).filter(([, { load }]) => load !== undefined)
    expect(Object.keys(VERB_ARGUMENTS).toSorted()).toEqual(
      commands.map(([name]) => name).toSorted(),
    )
  })

  /** Outcomes of verbs, each with the kind of run that it is given. None may start anything. */
  const attempt = async (verbs: readonly (readonly [verb: string, kind: string])[]) => {
    const finished = await workspace.retakeEach(
      verbs.map(([verb, kind]) => [
        ...verb.split(' '),
        ...(VERB_ARGUMENTS[verb]?.(runs[kind] ?? '') ?? []),
      ]),
    )
    const said = finished.map(({ stdout, stderr }) => stdout + stderr)
    expect(beacon.take(), said.join('\n')).toBe(0)
    return finished.map(({ code }, index) => ({ verb: verbs[index]?.[0], code, said: said[index] }))
  }

  const starting: [verb: string, kind: string][] = STARTS.map((verb) => [verb, 'execArgv'])
  starting.push(['replay', 'command'], ['verify', 'command'], ['proxy', 'matcher'])

  test(`is refused by ${starting.map(([verb, kind]) => `${verb} (${kind})`).join(', ')}`, async () => {
    expect(await attempt(starting)).toEqual(
      starting.map(([verb]) => ({
        verb,
        code: 2,
        said: expect.stringContaining('RUN_NOT_TRUSTED') as string,
      })),
    )
  })

  const reading = sampled(READS, (verb) => ['show', 'report'].includes(verb))
  test(`is read without trust by ${reading.join(', ')}`, async () => {
    for (const { said } of await attempt(reading.map((verb) => [verb, 'execArgv'])))
      expect(said).not.toContain('RUN_NOT_TRUSTED')
  })

  test.each([
    ['verify', '--code', 'today', '.retake/runs', '--oracle', 'exit:0', '--yes'],
    ['failures', '--variables', '--oracle', 'exit:0'],
    ['debug', 'eval', '--all', '--at', 'agent.mjs:1', '1'],
  ])('%s starts none of many runs that are not trusted', async (...args) => {
    const { stdout, stderr } = await workspace.retake(args)
    expect(beacon.take(), stdout + stderr).toBe(0)
  })

  test('--trust starts it, and is not remembered', async () => {
    for (const kind of sampled(
      ['execArgv', 'NODE_OPTIONS', 'command'],
      (each) => each !== 'execArgv',
    )) {
      const { stdout } = await workspace.retake(['replay', runs[kind] ?? '', '--trust'])
      // A command has no way out of its sandbox; what it writes is shown.
      const calls = beacon.take()
      expect(calls === 1 || stdout.includes('the command ran'), kind).toBe(true)
      const again = await workspace.retake(['replay', runs[kind] ?? ''])
      expect(again).toMatchObject({ code: 2, stdout: '' })
      expect(beacon.take(), kind).toBe(0)
    }
  })

  test('the error shows the whole command line, with control characters escaped', async () => {
    const escape = String.fromCodePoint(27)
    const run = plantTape(join(workspace.folder, '.retake/runs'), {
      command: ['sh', '-c', `touch pwned ${escape}[2K\nls`],
      cwd: workspace.folder,
      env: {},
      proxy: { port: 0, routes: [] },
    })
    const { code, stderr } = await workspace.retake(['replay', run])
    expect(code).toBe(2)
    expect(stderr).toContain(String.raw`sh -c 'touch pwned \x1b[2K\nls' (in ${workspace.folder})`)
    expect(stderr).not.toContain(escape)
    const json = await workspace.retake(['replay', run, '--json'])
    expect(JSON.parse(json.stdout)).toMatchObject({ error: { code: 'RUN_NOT_TRUSTED' } })
  })

  test('verify of a folder starts nothing when one of its tapes is not trusted', async () => {
    soakOnly()
    await workspace.retake(['record', 'agent.mjs'])
    const { code, stdout, stderr } = await workspace.retake(['verify', '.retake/runs'])
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain('RUN_NOT_TRUSTED')
    expect((await workspace.retake(['verify', '.retake/runs', '--integrity-only'])).code).toBe(0)
  })

  test('trust remembers a run and shows what it starts', async () => {
    const run = runs['execArgv'] ?? ''
    const env = { XDG_STATE_HOME: join(workspace.folder, 'state') }
    const trusted = await workspace.retake(['trust', run], { env })
    expect(trusted.code).toBe(0)
    expect(trusted.stderr).toContain('--import=data:text/javascript,')
    expect((await workspace.retake(['replay', run], { env })).stderr).not.toContain('NOT_TRUSTED')
    expect(beacon.take()).toBe(1)
    const file = join(workspace.folder, 'state/retake/trusted-runs')
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(readFileSync(file, 'utf8')).toMatch(/^[0-9a-f]{64}\n$/)
  })
})

/** A copy of a run with one more variable among those its program read, which trust does not cover. */
function addRead(file: string, copy: string, read: EnvironmentRead, isCut: boolean): void {
  const tape = openTape(file)
  const writer = TapeWriter.create(copy, { ...tape.run }, tape.details)
  for (const found of tape.events(1)) {
    const { seq, at: _at, ...event } = found
    if (event.type === 'seal' || (event.type === 'call' && isCut)) break
    const { reads, names = [] } = readsOf(tape, seq)
    const edited = { reads: [...reads, read], names: [...names, read.name] }
    const body = isEnvironmentNote(found) ? Buffer.from(JSON.stringify(edited)) : tape.body(seq)
    writer.append(event as NewEvent, body)
  }
  if (isCut) writer.close()
  else writer.seal()
}

describe('a variable that loads code, added to those of a trusted run, is not used', () => {
  const agent = `import { spawnSync } from 'node:child_process'
Date.now()
const env = { ...process.env }
spawnSync(process.execPath, ['-e', ''], { env })
process.exitCode = 1
`
  let workspace: Workspace
  let beacon: Awaited<ReturnType<typeof startBeacon>>
  let recorded = ''

  beforeAll(async () => {
    beacon = await startBeacon()
    workspace = await makeWorkspace()
    await writeFile(join(workspace.folder, 'agent.mjs'), agent)
    await workspace.retake(['record', 'agent.mjs'])
    ;[recorded = ''] = await tapesOf(workspace)
  })
  afterAll(async () => {
    beacon.stop()
    await workspace.remove()
  })

  const attempts = [
    { verb: 'replay', args: [] },
    { verb: 'fork', args: ['--at', 'e1', '--set', 'value=2'] },
    { verb: 'rerun', args: [], code: agent.replace("['-e', '']", "['-e', ';']") },
    { verb: 'resume', args: [], isCut: true },
    { verb: 'blame', args: ['--oracle', 'exit:0', '--yes', '--max-forks', '4'] },
  ]
  test.each(sampled(attempts, ({ verb }) => ['replay', 'fork'].includes(verb)))(
    'by $verb',
    async ({ verb, args, code = agent, isCut = false }) => {
      const { folder, retake } = workspace
      await writeFile(join(folder, 'agent.mjs'), code)
      const value = `--import=data:text/javascript,${encodeURIComponent(beacon.code)}`
      const read = { name: 'NODE_OPTIONS', value }
      for (const each of [read, { ...read, isSecret: true as const }]) {
        await mkdir(join(folder, verb, String(each === read)), { recursive: true })
        const copy = join(folder, verb, String(each === read), basename(recorded))
        addRead(recorded, copy, each, isCut)
        const { stderr } = await retake([verb, copy, ...args])
        expect(stderr).not.toMatch(/ code [A-Z]/)
        expect(beacon.take()).toBe(0)
      }
    },
  )
})

/** `script` gives a program a terminal of its own. */
const hasScript = spawnSync('script', ['--version']).status === 0

test.skipIf(!hasScript)('a terminal prompts for trust and remembers a yes', async () => {
  const { retake, folder } = await folderWith({ 'agent.mjs': smallAgent })
  await retake(['record', 'agent.mjs'], { env: { XDG_STATE_HOME: join(folder, 'theirs') } })
  const env = { XDG_STATE_HOME: join(folder, 'ours') }
  const words = [`XDG_STATE_HOME=${env.XDG_STATE_HOME}`, process.execPath, cli, 'replay', 'last']
  const answer = (text: string) =>
    feed(['script', '-qec', words.join(' '), '/dev/null'], {
      cwd: folder,
      pieces: [{ after: '[n]o: ', text }],
      end: false,
    })
  const refused = await answer('n\r')
  expect(refused.stdout).toContain('node agent.mjs')
  expect(refused.stdout).toContain('RUN_NOT_TRUSTED')
  expect(refused.code).toBe(2)
  const allowed = await answer('y\r')
  expect(allowed.stdout).toContain('identical')
  expect(allowed.code).toBe(0)
  expect((await retake(['replay', 'last'], { env })).code).toBe(0)
})

describe('a run that was recorded here', () => {
  test('is trusted, also under another name and in another folder', async () => {
    soakOnly()
    const workspace = await folderWith({ 'agent.mjs': smallAgent })
    const { retake, folder } = workspace
    await retake(['record', 'agent.mjs'])
    const [tape = ''] = await tapesOf(workspace)
    await mkdir(join(folder, 'tapes'))
    await cp(tape, join(folder, 'tapes/renamed.tape'))
    expect((await retake(['replay', 'tapes/renamed.tape'])).code).toBe(0)
    const env = { XDG_STATE_HOME: join(folder, 'elsewhere') }
    const other = await retake(['replay', 'tapes/renamed.tape'], { env })
    expect(other.code).toBe(2)
  })

  test('is trusted as a scrubbed copy here, but not elsewhere, nor if made elsewhere', async () => {
    const { retake, folder } = await folderWith({ 'agent.mjs': smallAgent })
    const env = { XDG_STATE_HOME: join(folder, 'elsewhere') }
    const replayed = async (copy: string, options = {}) =>
      (await retake(['replay', `${copy}/${(await readdir(join(folder, copy)))[0]}`], options)).code
    await retake(['record', 'agent.mjs'])
    await retake(['scrub', 'last', '-o', 'here'])
    expect([await replayed('here'), await replayed('here', { env })]).toEqual([0, 2])
    await retake(['scrub', 'last', '-o', 'there'], { env })
    expect(await replayed('there', { env })).toBe(2)
  })

  test('is no longer trusted if its command was changed', async () => {
    const workspace = await folderWith({ 'agent.mjs': smallAgent, 'other.mjs': smallAgent })
    const { retake, folder } = workspace
    await retake(['record', 'agent.mjs'])
    const [tape = ''] = await tapesOf(workspace)
    const { details } = openTape(tape)
    const run = plantTape(join(folder, '.retake/runs'), { ...details, entry: 'other.mjs' })
    expect((await retake(['replay', run])).stderr).toContain('node other.mjs')
  })

  test('is trusted as a branch, whatever the recorded environment says', async () => {
    const workspace = await folderWith({ 'agent.mjs': smallAgent })
    const { retake, folder } = workspace
    const before = { XDG_STATE_HOME: join(folder, 'before') }
    const after = { XDG_STATE_HOME: join(folder, 'after') }
    await retake(['record', 'agent.mjs'], { env: before })
    const [tape = ''] = await tapesOf(workspace)
    expect(
      (await retake(['fork', 'last', '--at', 'e1', '--set', 'value=1'], { env: after })).code,
    ).toBe(2)
    await retake(['trust', tape], { env: after })
    await retake(['fork', 'last', '--at', 'e1', '--set', 'value=1'], { env: after })
    expect(await tapesOf(workspace)).toHaveLength(2)
    expect((await retake(['replay', 'last'], { env: after })).code).toBe(0)
    expect((await retake(['replay', 'last'], { env: before })).code).toBe(2)
  })

  test('is recorded even if trust cannot be stored, and the receipt says so', async () => {
    soakOnly()
    const { retake, folder } = await folderWith({ 'agent.mjs': smallAgent, state: 'a file' })
    const env = { XDG_STATE_HOME: join(folder, 'state') }
    const recorded = await retake(['record', 'agent.mjs'], { env })
    expect(recorded.code).toBe(0)
    expect(recorded.stderr).toMatch(
      /not trusted · .*trusted-runs cannot be written: replay needs --trust/,
    )
    expect((await retake(['replay', 'last'], { env })).code).toBe(2)
    expect((await retake(['replay', 'last', '--trust'], { env })).code).toBe(0)
    expect((await retake(['trust', 'last'], { env })).stderr).toContain('TRUST_NOT_SAVED')
  })

  test('is trusted as a command, too', async () => {
    soakOnly()
    const { retake } = await folderWith({})
    await retake(['record', '--', process.execPath, '-e', 'console.log(1)'])
    expect((await retake(['replay', 'last'])).code).toBe(0)
  })
})
