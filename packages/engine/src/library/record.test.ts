import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { natives } from '../kernel/natives.js'
import { openTape } from '@retake/tape/node'
import { runIdentity } from '../runs/run-identity.js'
import { defineAgent, openRecording, record, runOfError } from './record.js'
import { replay } from './replay.js'
import { rerun } from './run-again.js'
import { tool } from './tool.js'

test('if two runs draw the same id, the second one draws again', () => {
  const dir = mkdtempSync(path.join(tmpdir(), 'retake-record-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  const random = vi.spyOn(natives, 'randomUUID')
  const same = '07070707-0707-4707-8707-070707070707'
  random.mockReturnValueOnce(same).mockReturnValueOnce(same)
  const [first, second] = [0, 1].map(() => openRecording({ name: 'x', dir }))
  for (const each of [first, second]) each?.session.finish({})
  expect(random.mock.calls.length).toBeGreaterThanOrEqual(2)
  expect(first?.run.id).not.toBe(second?.run.id)
  expect(readdirSync(dir).filter((name) => name.endsWith('.tape'))).toHaveLength(2)
})

test('a folder that cannot be created is reported with the system error, and nothing changes', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'retake-record-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const dir = path.join(folder, 'notes.txt')
  writeFileSync(dir, 'precious')
  expect(() => openRecording({ name: 'x', dir })).toThrow(
    expect.objectContaining({
      code: 'RUNS_FOLDER_NOT_WRITABLE',
      what: `The folder ${dir} cannot be written to.`,
      why: expect.stringContaining('EEXIST') as string,
    }),
  )
  expect(readFileSync(dir, 'utf8')).toBe('precious')
})

test.each([
  ['refund', /"refund", not an object/],
  [undefined, /missing, not an object/],
  [{}, /`name` is missing/],
  [{ name: '' }, /`name` is ""/],
  [{ name: 7 }, /`name` is number/],
  [{ name: 'x', tags: 'production' }, /`tags` is "production", not a list/],
  [{ name: 'x', tags: ['a b'] }, /not a list of tags/],
  [{ name: 'x', entry: 'agent.ts#' }, /such as 'src\/agent.ts#handle'/],
  [{ name: 'x', file: 'tapes/refund' }, /ends with .tape/],
  [{ name: 'x', file: 'a.tape', dir: 'b' }, /`dir` and `file`/],
  [{ name: 'x', onError: 'ignore' }, /not 'stop' or 'continue'/],
])(
  'options that record() does not understand are refused before the agent runs: %j',
  async (options, why) => {
    const agent = vi.fn<() => void>()
    await expect(record(options as never, agent)).rejects.toMatchObject({
      code: 'RECORD_OPTIONS_INVALID',
      why: expect.stringMatching(why) as string,
    })
    expect(agent).not.toHaveBeenCalled()
  },
)

test.each([
  [{ name: 'x', folder: 'y' }, 'No option has a similar name.'],
  [{ name: 'x', Dir: 'y' }, 'Did you mean `dir`?'],
  [{ name: 'x', tag: ['y'] }, 'Did you mean `tags`?'],
])('an unknown option is an error that suggests another one: %j', async (options, why) => {
  await expect(record(options, () => 1)).rejects.toMatchObject({
    code: 'RECORD_OPTION_UNKNOWN',
    why,
  })
})

const cycle: unknown[] = []
cycle.push(cycle)

test.each([
  [{ order: { pay: () => 1 } }, 'contains function pay at `order.pay`, which'],
  [{ list: cycle }, 'contains a cycle at `list[0]`, which'],
  [() => 1, 'contains function (anonymous), which'],
])('an input that cannot be stored is refused before the agent runs', async (input, what) => {
  const agent = vi.fn<() => void>()
  await expect(record({ name: 'x', input }, agent)).rejects.toMatchObject({
    code: 'RECORD_INPUT_INVALID',
    what: `The input of record() ${what} cannot be stored.`,
  })
  expect(agent).not.toHaveBeenCalled()
})

test('the agent gets a copy of its input, and the tape has it with tags and entry', async () => {
  const dir = mkdtempSync(path.join(tmpdir(), 'retake-record-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  const input = { at: new Date(0), list: [1] }
  const agent = defineAgent('src/agent.ts#handle', (given: typeof input) => {
    given.list.push(2)
    return { given, id: runIdentity()?.id }
  })
  const file = path.join(dir, 'refund.tape')
  const { output, run } = await record({ name: 'x', input, tags: ['production'], file }, agent)
  expect(input.list).toEqual([1])
  expect(output).toEqual({ given: { at: new Date(0), list: [1, 2] }, id: 'refund' })
  expect(run).toEqual({ id: 'refund', name: 'x', path: file })
  expect(openTape(file).details).toMatchObject({
    input: { at: { $: 'Date', v: 0 }, list: [1] },
    tags: ['production'],
    entry: 'src/agent.ts#handle',
  })
  await expect(record({ name: 'x', file }, () => 1)).rejects.toMatchObject({ code: 'TAPE_EXISTS' })
  expect((await replay(file, () => agent({ at: new Date(0), list: [1] }))).output).toEqual(output)
})

test('a run without a folder for its tape continues unrecorded if allowed', async () => {
  const dir = path.join(mkdtempSync(path.join(tmpdir(), 'retake-record-')), 'file')
  onTestFinished(() => rmSync(path.dirname(dir), { recursive: true, force: true }))
  writeFileSync(dir, '')
  const warn = vi.spyOn(process, 'emitWarning').mockReturnValue()
  onTestFinished(() => warn.mockRestore())
  const { output, run } = await record(
    { name: 'x', input: 4, dir, onError: 'continue' },
    (n) => n + 1,
  )
  expect(output).toBe(5)
  expect(run.failure).toMatchObject({ code: 'RUNS_FOLDER_NOT_WRITABLE' })
  expect(warn).toHaveBeenCalledOnce()
})

test('the default folder of tapes is kept out of version control', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'retake-record-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  vi.spyOn(process, 'cwd').mockReturnValue(folder)
  onTestFinished(() => void vi.restoreAllMocks())
  await record({ name: 'x' }, () => 1)
  expect(readFileSync(path.join(folder, '.retake', '.gitignore'), 'utf8')).toBe('*\n')
  await record({ name: 'x', dir: path.join(folder, 'own', 'runs') }, () => 1)
  expect(readdirSync(path.join(folder, 'own'))).toEqual(['runs'])
})

test('the error of a run that throws leads to its tape', async () => {
  const dir = mkdtempSync(path.join(tmpdir(), 'retake-record-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  const error = new Error('no')
  await expect(record({ name: 'x', dir }, () => Promise.reject(error))).rejects.toBe(error)
  expect(Object.getOwnPropertyNames(error).toSorted()).toEqual(['message', 'stack'])
  expect(runOfError(error)).toMatchObject({
    name: 'x',
    path: path.join(dir, readdirSync(dir)[0] ?? ''),
  })
  expect(runOfError('no')).toBeUndefined()
})

test('a tool gets its arguments as recorded, even with concurrent runs', async () => {
  const dir = mkdtempSync(path.join(tmpdir(), 'retake-record-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  const seen: number[] = []
  const pay = tool('pay', ({ amount }: { amount: number }) => void seen.push(amount))
  const agent = async (): Promise<void> => {
    const order = { amount: 5 }
    const paying = pay(order)
    order.amount = 5000
    await paying
  }
  await Promise.all([1, 2, 3].map((run) => record({ name: `run ${run}`, dir }, agent)))
  expect(seen).toEqual([5, 5, 5])
})

test('a tape has the code of its entry; a branch in the program does not claim it', async () => {
  const dir = mkdtempSync(path.join(tmpdir(), 'retake-record-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  const code = { list: 'a'.repeat(64), files: 1 }
  const price = tool('price', async ({ sku }: { sku: string }) => sku)
  const agent = (): Promise<string> => price({ sku: 'a' })
  const { run } = await record({ name: 'x', dir, entry: 'agent.mjs' }, agent, code)
  expect(openTape(run.path).details.code).toEqual(code)
  const bare = await record({ name: 'x', dir }, agent, code)
  expect(openTape(bare.run.path).details.code).toBeUndefined()
  const again = await rerun(run.path, () => price({ sku: 'b' }))
  expect(openTape(again.run.path).details).toMatchObject({ branch: { kind: 'rerun' } })
  expect(openTape(again.run.path).details.code).toBeUndefined()
})
