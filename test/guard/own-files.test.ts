import { execFileSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { guard, loadPolicy, openTape, presets, record, replay } from 'retake'
import { expect, onTestFinished, test, vi } from 'vitest'
import { hasSandbox } from '../support/has-sandbox.js'
import { makeWorkspace } from '../support/run-retake.mjs'

async function project(): Promise<{ folder: string; runs: string }> {
  const { folder, remove } = await makeWorkspace()
  onTestFinished(remove)
  return { folder, runs: join(folder, '.retake', 'runs') }
}

const read = ({ path }: { path: string }) => readFileSync(path, 'utf8')
const write = ({ path, text }: { path: string; text: string }) => writeFileSync(path, text)

test('a model that may write to the project cannot approve its own call', async () => {
  const { folder, runs } = await project()
  const run = guard({
    name: 'coder',
    dir: runs,
    policy: [presets.sandbox({ root: folder }), { name: 'money', rules: [{ ask: 'refund' }] }],
    approval: { ask: 'viewer', expiresMs: 3000 },
  })
  onTestFinished(() => void run.end())
  const refunds: number[] = []
  run.tool('refund', ({ amount }: { amount: number }) => refunds.push(amount))
  run.tool('read', read)
  run.tool('write', write)
  const refund = run.call('refund', { amount: 5000 })
  const request = await vi.waitFor(() => {
    const names = readdirSync(runs, { recursive: true }) as string[]
    const found = names.find((name) => name.endsWith('.request.json'))
    if (found === undefined) throw new Error('not asked yet')
    return join(runs, found)
  }, 60_000)
  const denied = { status: 'denied', error: { code: 'GUARD_OWN_FILES', rule: 'guard/own-files' } }
  expect(await run.call('read', { path: request })).toMatchObject(denied)
  const decision = request.replace(/\.request\.json$/, '.decision.json')
  const text = JSON.stringify({ approved: true, by: 'alice' })
  expect(await run.call('write', { path: decision, text })).toMatchObject(denied)
  expect(existsSync(decision)).toBe(false)
  expect(await refund).toMatchObject({ status: 'denied' })
  expect(refunds).toEqual([])
  expect(await run.call('write', { path: join(folder, 'a.txt'), text: 'a' })).toMatchObject({
    status: 'done',
  })
})

test('tools read what else is in .retake, and write only to the programs in it', async () => {
  const { folder, runs } = await project()
  const run = guard({ name: 'coder', dir: runs, policy: presets.sandbox({ root: folder }) })
  onTestFinished(() => void run.end())
  run.tool('read', read)
  run.tool('write', write)
  run.tool('folder', ({ path }: { path: string }) => mkdirSync(path, { recursive: true }))
  run.tool('rename', ({ from, to }: { from: string; to: string }) => renameSync(from, to))
  const at = (...names: string[]): string => join(folder, '.retake', ...names)
  for (const name of ['sample', 'blame']) mkdirSync(at(name), { recursive: true })
  writeFileSync(at('blame', 'findings.json'), '{}')
  const denied = { status: 'denied', error: { code: 'GUARD_OWN_FILES' } }
  for (const path of [at('index'), at('blame', 'findings.json'), at('runs2', 'x')])
    expect(await run.call('write', { path, text: 'x' })).toMatchObject(denied)
  expect(await run.call('folder', { path: at('new') })).toMatchObject(denied)
  expect(await run.call('rename', { from: at('sample'), to: at('runs3') })).toMatchObject(denied)
  expect(readdirSync(at()).filter((name) => /new|index|runs[23]/.test(name))).toEqual([])
  const done = { status: 'done' }
  expect(await run.call('read', { path: at('blame', 'findings.json') })).toMatchObject(done)
  expect(await run.call('write', { path: at('sample', 'a.ts'), text: 'x' })).toMatchObject(done)
})

test.skipIf(!hasSandbox)('programs in a sandbox cannot write there either', async () => {
  const { folder, runs } = await project()
  mkdirSync(join(folder, '.retake', 'sample'), { recursive: true })
  const command =
    'cd .ret*; echo x > evil; echo x > sample/a.ts; echo x > ../b.ts; ls; ls sample ..; true'
  const policy = presets.sandbox({ root: folder, programs: [['sh', '-c', command]] })
  const run = guard({ name: 'coder', dir: runs, policy })
  onTestFinished(() => void run.end())
  run.tool('sh', () =>
    execFileSync('sh', ['-c', command], { cwd: folder, stdio: 'pipe' }).toString(),
  )
  const { output, error } = await run.call('sh', {})
  expect(error).toBeUndefined()
  expect(String(output).split('\n')).toEqual(expect.arrayContaining(['a.ts', 'b.ts', 'sample']))
  expect(existsSync(join(folder, '.retake', 'evil'))).toBe(false)
  expect(existsSync(join(folder, '.retake', 'sample', 'a.ts'))).toBe(true)
})

test.skipIf(!hasSandbox)(
  'the filter of the sandbox cannot be changed through its descriptor',
  async () => {
    const { folder, runs } = await project()
    const policy = { name: 'offline', network: { allow: [] }, shell: { allow: [['true']] } }
    const run = guard({ name: 'filter', dir: runs, policy })
    onTestFinished(() => void run.end())
    run.tool('start', () => execFileSync('true').length)
    run.tool('write', write)
    expect(await run.call('start', {})).toMatchObject({ status: 'done' })
    const links = readdirSync('/proc/self/fd').map((fd) => `/proc/self/fd/${fd}`)
    const filter = links.find((link) => target(link).includes('retake-filter-'))
    expect(await run.call('write', { path: filter, text: '' })).toMatchObject({
      error: { code: 'GUARD_OWN_FILES' },
    })
    expect(await run.call('write', { path: join(folder, 'a'), text: '' })).toMatchObject({
      status: 'done',
    })
  },
)

/** Empty for a descriptor that was closed meanwhile. */
function target(link: string): string {
  try {
    return readlinkSync(link)
  } catch {
    return ''
  }
}

test('the tape that records a tool is closed to it and stays intact', async () => {
  const { folder, runs } = await project()
  const run = guard({ name: 'coder', dir: runs, policy: presets.sandbox({ root: folder }) })
  run.tool('spoil', () => {
    for (const name of readdirSync(dirname(runs))) writeFileSync(join(dirname(runs), name), '')
    for (const name of existsSync(runs) ? readdirSync(runs) : [])
      writeFileSync(join(runs, name), '')
    writeFileSync(join(runs, 'x.tape'), '')
  })
  expect(await run.call('spoil', {})).toMatchObject({ error: { code: 'GUARD_OWN_FILES' } })
  const tape = openTape(run.end()?.path ?? '')
  expect(tape.verify().ok).toBe(true)
  expect(readdirSync(runs)).not.toContain('x.tape')
})

test('a guard inside a recording closes the tape of that recording, and the refusal replays', async () => {
  const { folder } = await project()
  const tapes = join(folder, 'elsewhere')
  const agent = async () => {
    const run = guard({
      name: 'inner',
      dir: join(folder, 'own'),
      policy: presets.sandbox({ root: folder }),
    })
    run.tool('write', write)
    const { status, error } = await run.call('write', { path: join(tapes, 'x.tape'), text: 'x' })
    return { status, code: (error as { code?: string }).code }
  }
  const { output, run } = await record({ name: 'outer', dir: tapes }, agent)
  expect(output).toEqual({ status: 'denied', code: 'GUARD_OWN_FILES' })
  expect(existsSync(join(tapes, 'x.tape'))).toBe(false)
  expect((await replay(run.path, agent)).output).toEqual(output)
})

test('a policy file in use is closed to tools, and files beside it are not', async () => {
  const { folder, runs } = await project()
  const file = join(folder, 'policy.yaml')
  writeFileSync(file, 'name: shop\nfiles: { read: [.], write: [.] }\n')
  writeFileSync(join(folder, 'other.yaml'), 'name: other\n')
  const run = guard({ name: 'coder', dir: runs, policy: await loadPolicy(file) })
  onTestFinished(() => void run.end())
  run.tool('write', write)
  expect(await run.call('write', { path: file, text: 'name: open' })).toMatchObject({
    status: 'denied',
    error: { code: 'GUARD_OWN_FILES', why: expect.stringContaining('the policy in use') as string },
  })
  expect(await run.call('write', { path: join(folder, 'other.yaml'), text: '' })).toMatchObject({
    status: 'done',
  })
})
