import { chmod, chown, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { openTape } from '@retake/tape/node'
import { describe, expect, test } from 'vitest'
import { run, type Finished } from '../support/run-retake.mjs'
import {
  cli,
  folderWith,
  interrupt,
  openParent,
  runAsNobody,
  smallAgent,
  tapesOf,
} from './workspace.js'
import { soakOnly } from '../support/soak.js'

/**
 * The code of the one error a command ended with, and its exit code. Anything
 * but one error in four lines, without a frame of ours, is shown in full.
 */
function oneError({ stderr, code }: Finished): string {
  const errors = stderr.match(/^error .+\n {2}why {2}.+\n {2}fix {2}.+\n {2}code [A-Z_]+\n/gm) ?? []
  const [error = '', second] = errors
  const isClean = second === undefined && !/^ +at .*packages\/(cli|engine|tape)\//m.test(stderr)
  const [, name] = /code ([A-Z_]+)/.exec(error) ?? []
  return isClean && name !== undefined ? `${name}, exit code ${code}` : stderr
}

/** A recorded run, and the bytes of its tape for a test to spoil. */
async function recorded() {
  const workspace = await folderWith({ 'agent.mjs': smallAgent })
  await workspace.retake(['record', 'agent.mjs'])
  const [path = ''] = await tapesOf(workspace)
  return { ...workspace, path, bytes: await readFile(path) }
}

describe('a file that is not a readable tape', () => {
  test('missing, empty, a folder, or something else entirely', async () => {
    const { retake } = await folderWith({ 'empty.tape': '', 'text.tape': 'Dear diary\n' })
    for (const verb of ['show', 'replay']) {
      expect(oneError(await retake([verb, 'none.tape']))).toBe('TAPE_MISSING, exit code 1')
      expect(oneError(await retake([verb, 'empty.tape']))).toBe('TAPE_EMPTY, exit code 1')
      expect(oneError(await retake([verb, './']))).toBe('TAPE_IS_DIRECTORY, exit code 1')
      expect(oneError(await retake([verb, 'text.tape']))).toBe('TAPE_NOT_A_TAPE, exit code 1')
    }
    expect(oneError(await retake(['export', 'text.tape', '--jsonl']))).toBe(
      'TAPE_NOT_A_TAPE, exit code 1',
    )
    expect(oneError(await retake(['verify', 'none.tape']))).toBe('TAPE_MISSING, exit code 1')
  })

  test('cut off inside its first record', async () => {
    soakOnly()
    const { retake, path, bytes } = await recorded()
    await writeFile(path, bytes.subarray(0, 60))
    expect(oneError(await retake(['show', 'last']))).toBe('TAPE_NO_RUN, exit code 1')
  })

  test('cut off later: everything before is shown and replayed', async () => {
    const { retake, path, bytes } = await recorded()
    const events = openTape(path).count
    await writeFile(path, bytes.subarray(0, bytes.indexOf('done') + 2))
    const { stdout } = await retake(['show', 'last'])
    expect(stdout).toContain('killed: no end was recorded')
    const { code, stderr } = await retake(['replay', 'last'])
    expect(stderr).toMatch(/^identical · (\d+) of \1 events/)
    expect(stderr).toContain(
      'cut off · the end is missing: the run was killed, or its tape was cut',
    )
    expect(openTape(path).count).toBeLessThan(events)
    expect(code).toBe(3)
  })

  test('damaged in the middle: shown up to there, refused by replay and not repaired', async () => {
    const { retake, path, bytes } = await recorded()
    const spoiled = Buffer.from(bytes)
    spoiled.write('stopped', spoiled.indexOf('started '))
    await writeFile(path, spoiled)
    expect(oneError(await retake(['replay', 'last']))).toBe('TAPE_CORRUPT, exit code 1')
    const shown = await retake(['show', 'last'])
    expect(shown.code).toBe(3)
    expect(shown.stdout).toMatch(
      /^damaged: event \d+: .*; only the \d+ events before it are shown$/m,
    )
    const verified = await retake(['verify', 'last'])
    expect(verified.code).toBe(3)
    expect(verified.stdout).toContain('damaged')
    expect((await readFile(path)).equals(spoiled)).toBe(true)
    expect((await retake(['list'])).code).toBe(0)
  })

  test('written by a newer Retake', async () => {
    const { retake, path, bytes } = await recorded()
    await writeFile(path, bytes.toString('latin1').replace('"format":1', '"format":7'), 'latin1')
    expect(oneError(await retake(['show', 'last']))).toBe('TAPE_FROM_FUTURE, exit code 1')
    const { stdout } = await retake(['list'])
    expect(stdout).toContain('TAPE_FROM_FUTURE')
  })
})

describe('without permission', () => {
  test('a tape that may not be read', async () => {
    const { folder } = await folderWith({ 'private.tape': 'x' })
    await chmod(join(folder, 'private.tape'), 0o000)
    await chmod(folder, 0o755)
    await openParent(folder)
    expect(oneError(await runAsNobody(['show', './private.tape'], folder))).toBe(
      'TAPE_UNREADABLE, exit code 1',
    )
  })

  test('a folder that may not be written to', async () => {
    soakOnly()
    const { folder } = await folderWith({ 'agent.mjs': smallAgent })
    await chmod(folder, 0o555)
    await openParent(folder)
    await chmod(join(folder, 'agent.mjs'), 0o644)
    const finished = await runAsNobody(['record', 'agent.mjs'], folder)
    expect(oneError(finished)).toBe('RUNS_FOLDER_NOT_WRITABLE, exit code 1')
    expect(finished.stdout).toBe('')
    await chmod(folder, 0o755)
  })

  test('a folder for tapes that turns read-only', async () => {
    soakOnly()
    const { folder } = await folderWith({ 'agent.mjs': smallAgent })
    await openParent(folder)
    if (process.getuid?.() === 0) await chown(folder, 65534, 65534)
    expect(await runAsNobody(['record', 'agent.mjs'], folder)).toMatchObject({ code: 0 })
    await chmod(join(folder, '.retake', 'runs'), 0o555)
    expect(oneError(await runAsNobody(['record', 'agent.mjs'], folder))).toBe(
      'RUNS_FOLDER_NOT_WRITABLE, exit code 1',
    )
    await chmod(join(folder, '.retake', 'runs'), 0o755)
  })
})

describe('a run that does not exist', () => {
  test('no runs yet, an unknown name, a prefix of two, a step that is not there', async () => {
    const { retake } = await folderWith({ 'agent.mjs': smallAgent })
    expect(oneError(await retake(['show', 'last']))).toBe('NO_RUNS, exit code 1')
    await retake(['record', 'agent.mjs'])
    await retake(['record', 'agent.mjs'])
    expect(oneError(await retake(['show', 'nonsense']))).toBe('UNKNOWN_RUN, exit code 1')
    expect(oneError(await retake(['show', '20']))).toBe('AMBIGUOUS_RUN, exit code 1')
    expect(oneError(await retake(['show', 'last', '--step', '9']))).toBe(
      'NO_SUCH_STEP, exit code 1',
    )
  })

  test('record --json without a file prints its error as JSON where its result would be', async () => {
    const { retake } = await folderWith({})
    const { stdout, stderr, code } = await retake(['record', '--json'])
    expect({ stdout, code }).toEqual({ stdout: '', code: 2 })
    expect(JSON.parse(stderr)).toMatchObject({ error: { code: 'WRONG_USAGE' } })
  })

  test('with --json the error is JSON on stdout', async () => {
    soakOnly()
    const { retake } = await folderWith({})
    const { stdout, stderr, code } = await retake(['show', 'nope', '--json'])
    expect({ stderr, code }).toEqual({ stderr: '', code: 1 })
    expect(JSON.parse(stdout)).toEqual({
      error: {
        code: 'UNKNOWN_RUN',
        what: expect.any(String),
        why: expect.any(String),
        fix: expect.any(String),
      },
    })
  })
})

describe('an agent that cannot run', () => {
  test('may be named after the program that would run it, which is left out', async () => {
    const { retake } = await folderWith({ 'agent.mjs': smallAgent })
    const named = await retake(['record', 'npx', 'tsx', 'agent.mjs', 'order 1182'])
    expect(oneError(named)).toBe('AGENT_MISSING, exit code 1')
    expect(named.stderr).toContain('the program that npx would run: `retake record agent.mjs`')
    const absent = await retake(['record', 'node', 'none.mjs'])
    expect(absent.stderr).toContain('retake record -- python agent.py')
  })

  test('is missing, or a folder, or refused by Node', async () => {
    soakOnly()
    const { retake } = await folderWith({ 'agent.mjs': smallAgent, 'agent.py': 'print()' })
    expect(oneError(await retake(['record', 'none.mjs']))).toBe('AGENT_MISSING, exit code 1')
    const python = await retake(['record', 'agent.py'])
    expect(oneError(python)).toBe('AGENT_NOT_JAVASCRIPT, exit code 1')
    expect(python.stderr).toContain('retake record -- python agent.py')
    expect(oneError(await retake(['record', '.']))).toBe('AGENT_NOT_A_FILE, exit code 1')
    const refused = await retake(['record', '--node-arg=--no-such-flag', 'agent.mjs'])
    expect(oneError(refused)).toBe('NOTHING_RECORDED, exit code 1')
    expect(refused.stderr).toContain('bad option: --no-such-flag')
    const watched = await retake(['record', '--node-arg=--watch', 'agent.mjs'])
    expect(oneError(watched)).toBe('WRONG_USAGE, exit code 2')
  })

  test.each([
    ['agent.mjs', 'const a = 1 +\n\n;'],
    ['agent.ts', 'const a: number = 1\nconst b = a +\n\n;'],
  ])('%s that does not compile shows file and line once', async (file, source) => {
    const { retake, folder } = await folderWith({ [file]: source })
    const { code, stderr } = await retake(['record', file])
    expect(code).toBe(1)
    expect(stderr).toContain(`${join(folder, file)}:${source.split('\n').length}`)
    expect(stderr.match(/^SyntaxError/gm)).toHaveLength(1)
    expect(stderr).not.toMatch(/packages\/(cli|engine|tape)\//)
    expect(stderr).toMatch(/recorded .* · exit code 1/)
    expect((await retake(['list'])).stdout).toContain('failed')
  })

  test('throws: its own error is shown, and the tape is complete and replays', async () => {
    soakOnly()
    const { retake } = await folderWith({ 'agent.mjs': `throw new TypeError('no luck')` })
    const { code, stderr } = await retake(['record', 'agent.mjs'])
    expect(code).toBe(1)
    expect(stderr).toMatch(/^TypeError: no luck$/m)
    expect(stderr).not.toMatch(/packages\/(cli|engine|tape)\//)
    expect((await retake(['show', 'last'])).stdout).toContain('failed: TypeError: no luck')
    expect(await retake(['replay', 'last'])).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/identical/),
    })
  })
})

test('a full disk stops the agent immediately and loses nothing acknowledged', async () => {
  const workspace = await folderWith({
    'agent.mjs': `
process.on('exit', () => console.log('must not run'))
for (let line = 0; ; line++) {
  try { console.log('line', line) } catch { console.log('must not go on') }
}`,
  })
  // The limit holds for the list of trusted runs as well, which all tests write to otherwise.
  const env = { XDG_STATE_HOME: join(workspace.folder, 'state') }
  const finished = await run(
    'bash',
    ['-c', `ulimit -f 24; exec "$0" "$1" record agent.mjs`, process.execPath, cli],
    workspace.folder,
    { env },
  )
  expect(oneError(finished)).toBe('TAPE_WRITE_FAILED, exit code 1')
  expect(finished.stdout).not.toContain('must not')
  const [path = ''] = await tapesOf(workspace)
  const tape = openTape(path)
  const written = [...tape.events()].flatMap((event) =>
    event.type === 'output' ? [Buffer.from(tape.body(event.seq)).toString()] : [],
  )
  // Whatever anybody saw is on the tape. The last lines may be on the tape only:
  // they were still on their way out when the process was stopped.
  expect(written.length).toBeGreaterThan(20)
  expect(written.join('').startsWith(finished.stdout)).toBe(true)
  const replayed = await workspace.retake(['replay', 'last'], { env })
  expect(replayed).toMatchObject({ code: 3, stderr: expect.stringContaining('identical') })
})

describe('a signal', () => {
  const waiting = `console.log('ready', Math.random())
setInterval(() => console.log('tick', Date.now()), 20)`

  test.each([
    ['Ctrl-C', 'SIGINT', 130, (pid: number): boolean => process.kill(-pid, 'SIGINT')],
    [
      'SIGTERM to retake alone',
      'SIGTERM',
      143,
      (pid: number): boolean => process.kill(pid, 'SIGTERM'),
    ],
  ] as const)('%s ends the tape with it', async (_, signal, exitCode, act) => {
    const workspace = await folderWith({ 'agent.mjs': waiting })
    const finished = await interrupt(workspace.folder, ['record', 'agent.mjs'], act)
    expect(finished.code).toBe(exitCode)
    expect(finished.stderr).toMatch(new RegExp(`^recorded .* · killed by ${signal} · `))
    const [path = ''] = await tapesOf(workspace)
    const tape = openTape(path)
    expect(tape.status).toBe('sealed')
    expect(tape.verify().ok).toBe(true)
    expect(tape.event(tape.count - 2)).toMatchObject({ type: 'end', signal })
    const replayed = await workspace.retake(['replay', 'last'])
    expect(replayed.stdout.startsWith(finished.stdout)).toBe(true)
    expect(replayed.code).toBe(0)
    expect(replayed.stderr).toContain(`the run was killed by ${signal}`)
    expect((await workspace.retake(['list'])).stdout).toContain('killed')
  })

  test('a killed run took as long as it ran, not only until its last event', async () => {
    const workspace = await folderWith({
      'agent.mjs': `console.log('ready')\nsetInterval(() => {}, 1e6)`,
    })
    await interrupt(workspace.folder, ['record', 'agent.mjs'], (pid) =>
      setTimeout(() => process.kill(-pid, 'SIGINT'), 1500),
    )
    const [path = ''] = await tapesOf(workspace)
    const tape = openTape(path)
    expect(tape.event(tape.count - 2)).toMatchObject({ type: 'end', signal: 'SIGINT' })
    expect(tape.event(tape.count - 2).at).toBeGreaterThan(1400)
  })

  test('an agent that handles Ctrl-C ends in its own way', async () => {
    soakOnly()
    const workspace = await folderWith({
      'agent.mjs': `process.on('SIGINT', () => { console.log('saved'); process.exit(5) })
console.log('ready'); setInterval(() => {}, 1000)`,
    })
    const finished = await interrupt(workspace.folder, ['record', 'agent.mjs'], (pid) =>
      process.kill(-pid, 'SIGINT'),
    )
    expect(finished).toMatchObject({ code: 5, stdout: 'ready\nsaved\n' })
    expect(await workspace.retake(['replay', 'last'])).toMatchObject({
      code: 5,
      stdout: 'ready\nsaved\n',
    })
  })

  test('SIGKILL leaves a truncated tape, and Retake says so', async () => {
    const workspace = await folderWith({
      'agent.mjs': `console.log('ready'); process.kill(process.pid, 'SIGKILL')`,
    })
    const { code, stderr, stdout } = await workspace.retake(['record', 'agent.mjs'])
    expect({ code, stdout }).toEqual({ code: 137, stdout: 'ready\n' })
    expect(stderr).toMatch(
      /killed by SIGKILL[^]*cut off · the tape contains everything up to that point/,
    )
    expect((await workspace.retake(['replay', 'last'])).code).toBe(3)
  })
})

test('a closed stdin reads as empty', async () => {
  soakOnly()
  const { folder, retake } = await folderWith({
    'agent.mjs': `let n = 0; for await (const chunk of process.stdin) n += chunk.length; console.log('read', n)`,
  })
  const finished = await run(
    'bash',
    ['-c', `exec "$0" "$1" record agent.mjs <&-`, process.execPath, cli],
    folder,
  )
  expect(finished).toMatchObject({ stdout: 'read 0\n', code: 0 })
  expect(await retake(['replay', 'last'])).toMatchObject({ stdout: 'read 0\n', code: 0 })
})
