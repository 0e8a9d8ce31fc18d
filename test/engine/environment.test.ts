import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fork, record, replay, tool } from '@retake/engine'
import { environmentOnTape } from '@retake/tape'
import { openTape } from '@retake/tape/node'
import { afterAll, beforeEach, expect, test, vi } from 'vitest'

const folder = mkdtempSync(join(tmpdir(), 'retake-environment-'))
const state = join(folder, 'state')
afterAll(() => rmSync(folder, { recursive: true, force: true }))

beforeEach(() => {
  vi.unstubAllEnvs()
  vi.stubEnv('XDG_STATE_HOME', state)
})

const options = { name: 'environment', dir: join(folder, 'runs') }
const secret = 'aB3dE6gH9jK2mN5pQ8sT1vW4'

test('a function run gets the variables it read when it was recorded', async () => {
  vi.stubEnv('REGION', 'recorded')
  vi.stubEnv('UNREAD', 'unread')
  const agent = () => ({
    region: process.env['REGION'],
    again: process.env['REGION'],
    missing: process.env['MISSING'],
    has: 'REGION' in process.env,
  })
  const { output, run } = await record(options, agent)
  expect(output).toEqual({ region: 'recorded', again: 'recorded', missing: undefined, has: true })
  const reads = environmentOnTape(openTape(run.path))
  expect([...reads.keys()].toSorted()).toEqual(['MISSING', 'REGION'])
  vi.stubEnv('REGION', 'of today')
  vi.stubEnv('MISSING', 'of today')
  expect((await replay(run.path, agent)).output).toEqual(output)
  expect(process.env['REGION']).toBe('of today')
})

test('variables that a replayed function sets are gone afterwards', async () => {
  const agent = () => {
    process.env['SET_INSIDE'] = 'inside'
    return [process.env['SET_INSIDE'], Object.keys(process.env).includes('SET_INSIDE')]
  }
  const { run } = await record(options, agent)
  delete process.env['SET_INSIDE']
  expect((await replay(run.path, agent)).output).toEqual(['inside', true])
  expect(process.env['SET_INSIDE']).toBeUndefined()
})

test('a secret is real if it is the recorded one, and otherwise a placeholder', async () => {
  vi.stubEnv('SERVICE_KEY', secret)
  const agent = () => process.env['SERVICE_KEY']?.toUpperCase()
  const { run } = await record(options, agent)
  const here = await replay(run.path, agent)
  expect(here).toMatchObject({ output: secret.toUpperCase(), placeholders: [] })
  expect(statSync(join(state, 'retake', 'machine-key')).mode & 0o777).toBe(0o600)
  vi.stubEnv('SERVICE_KEY', `${secret}-rotated`)
  await expect(replay(run.path, agent)).rejects.toMatchObject({ code: 'REPLAY_DIVERGED' })
  const elsewhere = await replay(run.path, agent, { mode: 'observe' })
  expect(elsewhere.placeholders).toEqual(['SERVICE_KEY'])
  expect(String(elsewhere.output)).toMatch(/^RETAKE-HIDDEN/)
  // The same value, but on another machine.
  vi.stubEnv('SERVICE_KEY', secret)
  vi.stubEnv('XDG_STATE_HOME', join(folder, 'other state'))
  const other = await replay(run.path, agent, { mode: 'observe' })
  expect(other.placeholders).toEqual(['SERVICE_KEY'])
})

test('the variables can be cloned', async () => {
  vi.stubEnv('REGION', 'recorded')
  const agent = () => structuredClone(process.env)['REGION']
  const { run, output } = await record(options, agent)
  vi.unstubAllEnvs()
  expect([output, (await replay(run.path, agent)).output]).toEqual(['recorded', 'recorded'])
  expect(structuredClone(process.env)).toEqual({ ...process.env })
})

test('a fork reads the values of its parent, then current values', async () => {
  vi.stubEnv('REGION', 'recorded')
  vi.stubEnv('LATER', 'recorded')
  const roll = tool('roll', () => ({ dice: 1 }))
  const agent = async () => {
    const before = process.env['REGION']
    const { dice } = await roll()
    return [before, process.env['REGION'], dice, process.env['LATER']]
  }
  const { run } = await record(options, agent)
  vi.stubEnv('REGION', 'of today')
  vi.stubEnv('LATER', 'of today')
  const forked = await fork(run.path, agent, { at: '1', set: { dice: 6 } })
  expect(forked.output).toEqual(['recorded', 'recorded', 6, 'of today'])
  vi.unstubAllEnvs()
  expect((await replay(forked.run.path, agent)).output).toEqual(forked.output)
})

test('a variable that other code changes during a run is named', async () => {
  vi.stubEnv('SHARED', 'one')
  const change = tool('change', () => void (process.env['SHARED'] = 'two'))
  const { run } = await record(options, async () => {
    const before = process.env['SHARED']
    await change()
    return [before, process.env['SHARED']]
  })
  const notes = [...openTape(run.path).events()].filter((event) => event.type === 'note')
  expect(notes).toContainEqual(
    expect.objectContaining({ kind: 'boundary', name: 'process.env' }) as object,
  )
})
