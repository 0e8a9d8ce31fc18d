import { appendFile, cp, mkdir, readFile, readlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { openTape, TapeLock, TapeWriter } from '@retake/tape/node'
import { expect, test } from 'vitest'
import { readRecords } from '../support/forge-tape.js'
import { linkModules, runLibrary } from '../support/run-library.mjs'
import type { Workspace } from '../support/run-retake.mjs'
import { folderWith, smallAgent, tapesOf } from './workspace.js'
import { sampled, soakOnly } from '../support/soak.js'

/** A folder with one recorded run; answers with the path of its tape. */
async function recorded(): Promise<{ workspace: Workspace; tape: string }> {
  const workspace = await folderWith({ 'agent.mjs': smallAgent })
  await workspace.retake(['record', 'agent.mjs'])
  const [tape = ''] = await tapesOf(workspace)
  return { workspace, tape }
}

/** The bytes of the first `count` records of a tape. */
async function firstRecords(tape: string, count: number): Promise<Buffer> {
  const bytes = await readFile(tape)
  const next = readRecords(tape)[count]
  return bytes.subarray(0, next === undefined ? bytes.length : bytes.indexOf(next.text))
}

test('a tape whose tail was deleted at a record boundary is truncated: a finding unless allowed', async () => {
  const { workspace, tape } = await recorded()
  const { retake } = workspace
  await writeFile(tape, await firstRecords(tape, readRecords(tape).length - 3))
  const found = await retake(['verify', 'last'])
  expect(found.code).toBe(3)
  expect(found.stdout).toMatch(/ cut off +identical /)
  expect(found.stdout).toContain('no seal')
  expect(found.stderr).toContain('0 intact, 1 cut off')
  const allowed = await retake(['verify', 'last', '--allow-cut-off'])
  expect(allowed.code).toBe(0)
  expect(allowed.stderr).toContain('0 intact, 1 cut off')
  const only = await retake(['verify', 'last', '--integrity-only', '--json'])
  expect(only.code).toBe(3)
  expect(JSON.parse(only.stdout)).toMatchObject({ integrity: 'cut off', ok: false })
})

test('fix reports a damaged or truncated tape as such', async () => {
  const { workspace, tape } = await recorded()
  const bytes = await readFile(tape)
  await writeFile(tape, await firstRecords(tape, readRecords(tape).length - 3))
  const truncated = await workspace.retake(['fix', 'last', '--no-ai'])
  expect(truncated.code).toBe(1)
  expect(truncated.stderr).toMatch(/the recording was cut off[^]*FIX_RUN_INCOMPLETE/)
  expect(truncated.stderr).not.toContain('defineAgent')
  const at = bytes.indexOf('started ')
  await writeFile(tape, bytes.fill('X', at, at + 3))
  const damaged = await workspace.retake(['fix', 'last', '--no-ai'])
  expect(damaged.code).toBe(1)
  expect(damaged.stderr).toMatch(/is corrupt at event \d+[^]*TAPE_CORRUPT/)
})

test('a tape without its seal is truncated in verify, list and show', async () => {
  soakOnly()
  const { workspace, tape } = await recorded()
  const { retake } = workspace
  await writeFile(tape, await firstRecords(tape, readRecords(tape).length - 1))
  expect((await retake(['verify', 'last'])).code).toBe(3)
  expect((await retake(['list'])).stdout).toMatch(/ cut off /)
  expect((await retake(['show', 'last'])).stdout).toContain('cut off')
  expect(JSON.parse((await retake(['show', 'last', '--json'])).stdout)).toMatchObject({
    integrity: 'cut off',
  })
})

const tails: readonly [string, (bytes: Buffer) => Buffer][] = [
  ['junk', () => Buffer.from('junk\n')],
  ['one newline', () => Buffer.from('\n')],
  ['the same tape again', (bytes) => bytes],
]

test.each(sampled(tails, ([tail]) => tail === 'one newline'))(
  'a tape with %s after the seal is damaged: it can be looked at, and replay refuses it',
  async (_, tailOf) => {
    const { workspace, tape } = await recorded()
    const { retake } = workspace
    await appendFile(tape, tailOf(await readFile(tape)))
    const found = await retake(['verify', 'last'])
    expect(found.code).toBe(3)
    expect(found.stdout).toMatch(/ damaged +not tried /)
    const replayed = await retake(['replay', 'last'])
    expect(replayed.code).toBe(1)
    expect(replayed.stderr).toContain('TAPE_CORRUPT')
    expect((await retake(['list'])).stdout).toContain('damaged')
    const shown = await retake(['show', 'last'])
    expect(shown.code).toBe(3)
    expect(shown.stdout).toMatch(/^damaged: event \d+: The seal ends the run, but /m)
  },
)

test('a tape joined from two runs is damaged, whole or cut', async () => {
  soakOnly()
  const { workspace, tape } = await recorded()
  const { retake, folder } = workspace
  await retake(['record', 'agent.mjs'])
  const [, second = ''] = await tapesOf(workspace)
  await mkdir(join(folder, 'joined'))
  const cut = await firstRecords(tape, 4)
  const others = await readFile(second)
  const join1 = Buffer.concat([await readFile(tape), others])
  const join2 = Buffer.concat([cut, others])
  await writeFile(join(folder, 'joined', 'whole.tape'), join1)
  await writeFile(join(folder, 'joined', 'cut.tape'), join2)
  const { code, stderr, stdout } = await retake(['verify', 'joined'])
  expect(code).toBe(3)
  expect(stderr).toContain('0 intact, 2 damaged')
  expect(stdout.match(/damaged/g)).toHaveLength(2)
})

test('show says that an edited tape is damaged', async () => {
  soakOnly()
  const { workspace, tape } = await recorded()
  const bytes = await readFile(tape)
  const at = bytes.indexOf('started ')
  await writeFile(tape, bytes.fill('X', at, at + 3))
  const json = await workspace.retake(['show', 'last', '--json'])
  expect(JSON.parse(json.stdout)).toMatchObject({ integrity: 'damaged' })
  const { stdout } = await workspace.retake(['show', 'last'])
  expect(stdout).toMatch(/damaged: event \d+/)
})

test('a run that is being recorded is neither truncated nor intact', async () => {
  soakOnly()
  const { workspace, tape } = await recorded()
  const { run, details } = openTape(tape)
  const { type, id: _, ...rest } = run
  const live = join(workspace.folder, 'live.tape')
  const writer = TapeWriter.create(live, { type, ...rest, id: 'live' }, details)
  const { code, stdout, stderr } = await workspace.retake(['verify', 'live.tape'])
  expect(code).toBe(0)
  expect(stdout).toMatch(/ recording +not tried /)
  expect(stderr).toContain('0 intact, 1 still being recorded')
  writer.close()
  expect((await workspace.retake(['verify', 'live.tape', '--integrity-only'])).code).toBe(3)
})

test.runIf(process.platform === 'linux')(
  'files beside a truncated tape do not make it one that is being recorded',
  async () => {
    const { workspace, tape } = await recorded()
    const { run, details } = openTape(tape)
    const cut = join(workspace.folder, 'cut.tape')
    TapeWriter.create(cut, run, details).close()
    const taken = TapeLock.take(cut)
    const lock = await readlink(`${cut}.lock`)
    taken.release()
    // This process is alive, but has no such file open.
    await writeFile(`${cut}.lock`, lock)
    await writeFile(`${cut}.pid`, String(process.pid))
    const { code, stderr } = await workspace.retake(['verify', 'cut.tape', '--integrity-only'])
    expect(code).toBe(3)
    expect(stderr).toContain('1 cut off')
  },
)

test('a replay that was not tried is counted separately, with the reason', async () => {
  soakOnly()
  const workspace = await folderWith({
    'agent.mjs': smallAgent,
    'function.mjs': `import { record } from 'retake'
await record({ name: 'function', dir: '.retake/runs' }, () => Date.now())
console.log(1)`,
  })
  const { retake, folder } = workspace
  await linkModules(folder)
  await retake(['record', 'agent.mjs'])
  await runLibrary(join(folder, 'function.mjs'), null, { cwd: folder })
  const all = await retake(['verify', '.retake/runs'])
  expect(all.code).toBe(0)
  expect(all.stderr).toBe(
    '2 intact, 1 replayed identically, 1 not replayed (recorded by record() without `entry`: replay it in your test)\n',
  )
  const only = await retake(['verify', '.retake/runs', '--integrity-only'])
  expect(only.stderr).toBe('2 intact, 2 not replayed (--integrity-only)\n')
})

test('a branch of a damaged run is refused; a branch of a killed run is not', async () => {
  soakOnly()
  const { workspace, tape } = await recorded()
  const { retake, folder } = workspace
  await retake(['fork', 'last', '--at', 'e2', '--set', 'value=0.5', '--tail', 'offline'])
  const killed = await firstRecords(tape, readRecords(tape).length - 2)
  const tapes = await tapesOf(workspace)
  expect(tapes.length).toBe(2)
  await cp(join(folder, '.retake/runs'), join(folder, 'copy'), { recursive: true })
  await writeFile(tape, killed)
  const branch = tapes.find((each) => each !== tape) ?? ''
  expect((await retake(['verify', branch, '--integrity-only'])).code).toBe(0)
  await appendFile(tape, await readFile(branch))
  const found = await retake(['verify', branch, '--integrity-only'])
  expect(found.code).toBe(3)
  expect(found.stdout).toContain('damaged')
})

test('without a terminal the reason is not cut, and ends in one full stop', async () => {
  soakOnly()
  const { workspace, tape } = await recorded()
  const bytes = await readFile(tape)
  const at = bytes.indexOf('started ')
  await writeFile(tape, bytes.fill('X', at, at + 3))
  const { stdout } = await workspace.retake(['verify', 'last'])
  expect(stdout).toContain('Its stored bytes were changed after they were written')
  expect(stdout).not.toContain('…')
  const { stderr } = await workspace.retake(['replay', 'last'])
  expect(stderr).toContain('Its stored bytes were changed after they were written.')
  expect(stderr).not.toContain('written..')
})

test('one digest names a run in show, replay, verify, audit and the library', async () => {
  const workspace = await folderWith({
    'agent.mjs': smallAgent,
    'function.mjs': `import { record, replay } from 'retake'
const agent = () => Date.now()
const { run } = await record({ name: 'function', dir: 'tapes' }, agent)
console.log(JSON.stringify({ path: run.path, digest: (await replay(run.path, agent)).digest }))`,
  })
  const { retake, folder } = workspace
  await retake(['record', 'agent.mjs'])
  const [tape = ''] = await tapesOf(workspace)
  const { digest } = openTape(tape)
  expect(digest).toMatch(/^[0-9a-f]{64}$/)
  for (const verb of ['show', 'replay', 'verify', 'guard audit']) {
    const json = await retake([...verb.split(' '), 'last', '--json'])
    expect(json.stdout.replaceAll(/\s/g, ''), verb).toContain(`"digest":"${digest}"`)
  }
  for (const verb of ['show', 'replay', 'verify']) {
    const text = await retake([...verb.split(' '), 'last'])
    expect(text.stdout + text.stderr, verb).toContain(digest)
  }
  await linkModules(folder)
  const { result } = await runLibrary(join(folder, 'function.mjs'), null, { cwd: folder })
  const library = result as { readonly path: string; readonly digest: string }
  const shown = await retake(['show', library.path, '--json'])
  expect(JSON.parse(shown.stdout)).toMatchObject({ digest: library.digest })
})
