import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openTape, readRun, record, replay, tool } from 'retake'
import { currentRecording } from '@retake/engine'

let dir: string
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'retake-recording-'))
})
afterAll(() => rm(dir, { recursive: true, force: true }))

const ask = tool('ask', async (question: string) => question.length)

test('a recorded run has its tape, takes marks, and says when it ends', async () => {
  const seen: string[] = []
  const { run, output } = await record({ name: 'recorded', dir }, async () => {
    const recording = currentRecording()
    recording?.mark('beside', 'something else was recorded')
    recording?.onEnd(() => seen.push(`ended, ${typeof currentRecording()}`))
    await ask('first')
    seen.push(`asked, ${currentRecording() === recording}`)
    return recording?.tape
  })
  expect(output).toBe(run.path)
  expect(seen).toEqual(['asked, true', 'ended, undefined'])
  const steps = readRun(openTape(run.path)).steps.map(({ kind, title }) => `${kind} ${title}`)
  expect(steps[0]).toBe('mark beside: something else was recorded')
})

test('there is no current recording outside runs and in a replay, where marks are ignored', async () => {
  const seen: boolean[] = []
  const agent = () => {
    const recording = currentRecording()
    recording?.mark('only when', 'it is recorded')
    seen.push(recording !== undefined)
    return ask('x')
  }
  const { run } = await record({ name: 'replayed', dir }, agent)
  expect(await replay(run.path, agent)).toEqual(
    expect.objectContaining({ output: 1, divergences: [] }),
  )
  await agent()
  expect(seen).toEqual([true, false, false])
})

test('end callbacks of a run are called when the run fails, too', async () => {
  let ended = 0
  const failing = record({ name: 'failing', dir }, () => {
    currentRecording()?.onEnd(() => (ended += 1))
    throw new Error('no')
  })
  await expect(failing).rejects.toThrow('no')
  expect(ended).toBe(1)
})
