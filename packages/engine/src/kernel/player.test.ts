import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { NewEvent, RequestEvent, RetakeError, Tape } from '@retake/tape/format'
import { TapeWriter } from '@retake/tape/node'
import { expect, onTestFinished, test } from 'vitest'
import { writeTape } from '../../test-support/write-tape.js'
import { recordingPorts, servingPorts } from '../session-ports.js'
import type { HandOverPlan, StepReader } from './settle-doubts.js'
import { HandOver } from './hand-over.js'
import { Player } from './player.js'
import { RecordSession } from './record-session.js'

const requestTo = (url: string): NewEvent<RequestEvent> => ({
  type: 'request',
  seam: 'fetch',
  method: 'POST',
  url,
  headers: [],
})

/** A player of a killed run that goes live at its end, with what is then sent and what the agent gets. */
function resume(tape: Tape, plan: HandOverPlan, sites: readonly string[]) {
  const folder = mkdtempSync(path.join(tmpdir(), 'retake-player-'))
  const run = { type: 'run', id: 'b', name: 'b', startedAt: 0, scope: 'function' } as const
  const writer = TapeWriter.create(
    path.join(folder, 'b.tape'),
    { ...run, node: process.version, durability: 'process' },
    {},
  )
  const failures: unknown[] = []
  const steps: StepReader = {
    inDoubt: new Map(sites.map((_, index) => [index + 1, { seq: index + 1, partial: false }])),
    doubtAbout: () => undefined,
    missingEnd: () => undefined,
    nameOf: (seq) => `operation ${seq}`,
    serverOf: () => undefined,
    refusalOf: () => Buffer.from('refused'),
    isRepeatable: () => false,
  }
  const ports = servingPorts(tape)
  const player = new Player(tape, {
    ...ports,
    errorFor: ({ code }) => Object.assign(new Error(code), { code }) as RetakeError,
    onStopped: () => {},
    continuation: {
      leave: 'at the end',
      isResume: true,
      isRerun: false,
      onFailed: (error) => failures.push(error),
      goLive: (at, owner) => ({
        recorder: new RecordSession(writer, { owner, ...recordingPorts() }),
        tail: new HandOver(tape, plan, { at, steps, settled: [], machine: ports.machine }),
      }),
    },
  })
  onTestFinished(() => {
    player.close()
    writer.close()
    rmSync(folder, { recursive: true })
  })
  const sent: string[] = []
  const got: string[] = []
  const fetch = (url: string): void =>
    void player.perform({
      event: requestTo(url),
      start: (operation) => {
        sent.push(url)
        operation.complete({ type: 'response', status: 200, statusText: 'OK', headers: [] })
      },
      deliver: ({ event }) =>
        got.push(`${url} ${event.type === 'deliver' ? event.error?.code : event.type}`),
    })
  for (const url of sites) fetch(url)
  return { player, fetch, sent, got, failures }
}

const sites = ['https://a/', 'https://b/']
const killed = (): Tape => writeTape(...sites.map(requestTo))

test('requests of a killed run are sent again if that was decided for all of them', async () => {
  const { player, sent, got } = resume(killed(), { inDoubt: 'retry' }, sites)
  await sleep(30)
  expect(player.isLive).toBe(true)
  expect(sent).toEqual(sites)
  expect(got).toEqual(['https://a/ response', 'https://b/ response'])
})

test('nothing is sent or delivered if one operation in progress has no decision', async () => {
  const decisions = { 1: 'retry' } as const
  const plan = { inDoubt: 'fail', decisions } as const
  const { player, fetch, sent, got, failures } = resume(killed(), plan, sites)
  expect(() => player.draw('Date.now', () => 1)).toThrow(
    expect.objectContaining({ code: 'STEP_IN_DOUBT' }),
  )
  expect(player).toMatchObject({ isLive: false, closed: true, recording: undefined })
  fetch('https://c/')
  await sleep(30)
  expect(failures).toMatchObject([{ code: 'STEP_IN_DOUBT' }])
  expect(sent).toEqual([])
  expect(got).toEqual(['https://c/ NOT_ON_TAPE'])
})
