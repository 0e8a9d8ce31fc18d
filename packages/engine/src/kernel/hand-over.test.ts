import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { NewEvent, RequestEvent, Tape } from '@retake/tape/format'
import { TapeWriter } from '@retake/tape/node'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { writeTape } from '../../test-support/write-tape.js'
import { recordingPorts } from '../session-ports.js'
import type { Doubt, HandOverPlan, SettledDoubt, StepReader } from './settle-doubts.js'
import { HandOver } from './hand-over.js'
import { RecordSession } from './record-session.js'
import { type Action, Operation } from './session.js'

const bytes = (text: string): Uint8Array => Buffer.from(text)

const request: NewEvent<RequestEvent> = {
  type: 'request',
  seam: 'fetch',
  method: 'POST',
  url: 'https://a/',
  headers: [],
}
const head = { type: 'response', op: 1, status: 200, statusText: 'OK', headers: [] } as const
const chunk = { type: 'deliver', op: 1, part: 'chunk' } as const
const done = { type: 'deliver', op: 1, part: 'end' } as const
const end = { type: 'end', exitCode: 0 } as const

interface Given {
  readonly at: number
  readonly plan?: Partial<HandOverPlan>
  readonly inDoubt?: Readonly<Record<number, Doubt>>
  readonly hasInput?: boolean
}

/** A run that goes live at event `at`, with what the agent, the outside and the disk then get. */
function goLive(tape: Tape, { at, plan, inDoubt = {}, hasInput = false }: Given) {
  const folder = mkdtempSync(path.join(tmpdir(), 'retake-live-'))
  const run = { type: 'run', id: 'b', name: 'b', startedAt: 0, scope: 'function' } as const
  const writer = TapeWriter.create(
    path.join(folder, 'b.tape'),
    { ...run, node: process.version, durability: 'process' },
    {},
  )
  const recorder = new RecordSession(writer, recordingPorts())
  onTestFinished(() => {
    recorder.close()
    writer.close()
    rmSync(folder, { recursive: true })
  })
  const settled: SettledDoubt[] = []
  const finished: string[] = []
  const steps: StepReader = {
    inDoubt: new Map(Object.entries(inDoubt).map(([op, doubt]) => [Number(op), doubt])),
    doubtAbout: () => undefined,
    missingEnd: () => undefined,
    nameOf: (seq) => `operation ${seq}`,
    serverOf: () => undefined,
    refusalOf: () => bytes('refused'),
    isRepeatable: () => false,
  }
  const handOver = new HandOver(
    tape,
    { inDoubt: 'fail', ...plan },
    {
      at,
      settled,
      steps,
      machine: {
        finishWrite: (_, body, written) =>
          finished.push(Buffer.from(body).toString('utf8', written)),
        hasInput: () => hasInput,
      },
    },
  )
  const got: string[] = []
  const sent: string[] = []
  const operationOf = (id: number, action: Partial<Action> = {}): Operation =>
    new Operation(
      id,
      {
        event: request,
        start: (operation, edited) => {
          sent.push(
            edited === undefined ? `operation ${operation.id}` : Buffer.from(edited).toString(),
          )
        },
        deliver: ({ event, body }) => {
          const part = event.type === 'deliver' ? event.part : event.type
          got.push([id, part, Buffer.from(body).toString()].join(' ').trim())
        },
        ...action,
      },
      recorder,
    )
  /** Takes over an operation, and waits until the agent has got what is due. */
  const takeOver = async (id: number, action?: Partial<Action>): Promise<Operation> => {
    const operation = operationOf(id, action)
    handOver.prepare(operation, recorder)()
    await sleep(30)
    return operation
  }
  return { handOver, recorder, operationOf, takeOver, got, sent, settled, finished }
}

describe('an answer that is on the tape', () => {
  const tape = (): Tape => writeTape(request, head, [chunk, 'one'], [chunk, 'two'], done, end)

  test('is handed out from where the run goes live, and nothing is sent', async () => {
    const { takeOver, got, sent } = goLive(tape(), { at: 4 })
    await takeOver(1)
    expect(got).toEqual(['1 chunk two', '1 end'])
    expect(sent).toEqual([])
  })

  test('does not reach an agent that has given up', async () => {
    const { operationOf, handOver, recorder, got } = goLive(tape(), { at: 4 })
    const operation = operationOf(1)
    handOver.prepare(operation, recorder)()
    operation.close()
    await sleep(30)
    expect(got).toEqual([])
  })

  test('can be replaced by the plan', async () => {
    const parts = [{ event: { type: 'deliver', part: 'end' }, body: '' }] as const
    const { takeOver, got } = goLive(tape(), { at: 4, plan: { answers: { op: 1, parts } } })
    await takeOver(1)
    expect(got).toEqual(['1 end'])
  })

  test('is not used if the plan sends the request again', async () => {
    const body = Buffer.from('edited').toString('base64')
    const { takeOver, got, sent } = goLive(tape(), { at: 4, plan: { again: { op: 1, body } } })
    await takeOver(1)
    expect(sent).toEqual(['edited'])
    expect(got).toEqual([])
  })
})

test('answers of several operations come in the recorded order', async () => {
  const other = { ...request, url: 'https://b/' }
  const answer = (op: number) => [{ ...chunk, op }, `answer ${op}`] as const
  const tape = writeTape(request, other, answer(2), answer(1), { ...done, op: 1 }, end)
  const { operationOf, handOver, recorder, got } = goLive(tape, { at: 3 })
  for (const id of [1, 2]) handOver.prepare(operationOf(id), recorder)()
  await vi.waitFor(() => expect(got.length).toBeGreaterThan(1))
  expect(got.slice(0, 2)).toEqual(['2 chunk answer 2', '1 chunk answer 1'])
})

describe('a request of a killed run without an answer', () => {
  const doubt = { 1: { seq: 1, partial: false } }
  const killed = (): Tape => writeTape(request)

  test('stops the run if nobody has decided, and is not sent', () => {
    const { handOver, operationOf, recorder, sent } = goLive(killed(), { at: 2, inDoubt: doubt })
    expect(() => handOver.prepare(operationOf(1), recorder)).toThrow(
      expect.objectContaining({ code: 'STEP_IN_DOUBT' }),
    )
    expect(sent).toEqual([])
  })

  test('is sent again if that was decided', async () => {
    const plan = { inDoubt: 'retry' } as const
    const { takeOver, sent, settled } = goLive(killed(), { at: 2, inDoubt: doubt, plan })
    await takeOver(1)
    expect(sent).toEqual(['operation 1'])
    expect(settled).toEqual([{ seq: 1, what: 'operation 1', decision: 'retried' }])
  })

  test('gets a refusal if it is skipped, and is not sent', async () => {
    const plan = { inDoubt: 'skip' } as const
    const { takeOver, got, sent, settled } = goLive(killed(), { at: 2, inDoubt: doubt, plan })
    await takeOver(1)
    expect(sent).toEqual([])
    expect(got[0]).toBe('1 response')
    expect(settled).toMatchObject([{ decision: 'skipped' }])
  })

  test('follows its own decision before the policy', async () => {
    const plan = { inDoubt: 'retry', decisions: { 1: 'skip' } } as const
    const { takeOver, sent } = goLive(killed(), { at: 2, inDoubt: doubt, plan })
    await takeOver(1)
    expect(sent).toEqual([])
  })
})

describe('a request whose answer had begun when the run was killed', () => {
  const repeat = async (answer: string) => {
    const tape = writeTape(request, head, [chunk, 'one '])
    const live = goLive(tape, {
      at: 4,
      plan: { inDoubt: 'retry' },
      inDoubt: { 1: { seq: 1, partial: true } },
    })
    await live.takeOver(1, {
      start: (operation) => {
        operation.complete({ type: 'response', status: 200, statusText: 'OK', headers: [] })
        operation.complete({ type: 'deliver', part: 'chunk' }, bytes(answer))
        operation.complete({ type: 'deliver', part: 'end' })
      },
    })
    return live
  }

  test('gets the rest of an equal answer', async () => {
    const { got, settled } = await repeat('one two')
    expect(got).toEqual(['1 chunk two', '1 end'])
    expect(settled).toMatchObject([{ decision: 'retried' }])
  })

  test('fails if the new answer is another one, which is never mixed with the first', async () => {
    const { got, settled } = await repeat('other')
    expect(got).toEqual(['1 error'])
    expect(settled).toMatchObject([{ decision: 'lost' }])
  })
})

test('timers and lasting operations start again', async () => {
  const timer = { type: 'timer', kind: 'timeout', ms: 5 } as const
  const watch = { type: 'call', kind: 'file', name: 'fs.watch' } as const
  const { takeOver, sent } = goLive(writeTape(timer, watch, end), { at: 3 })
  await takeOver(1, { event: timer })
  await takeOver(2, { event: watch, lasting: true })
  expect(sent).toEqual(['operation 1', 'operation 2'])
})

test('work that has finished is delivered, and not done again', async () => {
  const work = { type: 'work', name: 'gzip' } as const
  const { operationOf, handOver, recorder, got, sent } = goLive(writeTape(work, end), { at: 2 })
  const operation = operationOf(1, { event: work, reexecuted: true })
  operation.finished = { native: 'result' }
  handOver.prepare(operation, recorder)()
  await sleep(30)
  expect(got).toEqual(['1 fire'])
  expect(sent).toEqual([])
})

test('input that nobody can type ends', async () => {
  const input = { type: 'call', kind: 'input', name: 'stdin' } as const
  const closed = goLive(writeTape(input), { at: 2 })
  await closed.takeOver(1, { event: input })
  expect(closed.got).toEqual(['1 end'])
  const open = goLive(writeTape(input), { at: 2, hasInput: true })
  await open.takeOver(1, { event: input })
  expect(open.sent).toEqual(['operation 1'])
})

test.each(['signal SIGINT', 'messages'])('a missing stdin does not end "%s"', async (name) => {
  const input = { type: 'call', kind: 'input', name } as const
  const { takeOver, got, sent } = goLive(writeTape(input), { at: 2 })
  await takeOver(1, { event: input })
  expect(got).toEqual([])
  expect(sent).toEqual(['operation 1'])
})

describe('a write to a file that a kill interrupted', () => {
  const file = { path: '/tmp/a', length: 6 } as const
  const event = { type: 'call', kind: 'file', name: 'fs.writeFileSync', sync: true, file } as const
  const write = (finding: NonNullable<HandOverPlan['files']>[string]) => {
    const live = goLive(writeTape([event, 'abcdef']), {
      at: 2,
      plan: { files: { 1: finding } },
      inDoubt: { 1: { seq: 1, partial: false } },
    })
    const run = (): { event: { type: 'result' } } => {
      live.sent.push('written')
      return { event: { type: 'result' } }
    }
    const answer = live.handOver.answerSync(1, { event, body: bytes('abcdef'), run }, live.recorder)
    return { ...live, answer }
  }

  test('is made if the file is unchanged', () => {
    const { sent, settled } = write({ state: 'unchanged' })
    expect(sent).toEqual(['written'])
    expect(settled).toMatchObject([{ decision: 'retried', file: { written: 0, length: 6 } }])
  })

  test('is answered without being made if the file has all of it', () => {
    const { sent, finished, settled, answer } = write({ state: 'complete' })
    expect([sent, finished]).toEqual([[], []])
    expect(settled).toMatchObject([{ decision: 'done' }])
    expect(answer.event).toMatchObject({ type: 'result' })
  })

  test('is finished if the file has a part of it', () => {
    const { sent, finished, settled } = write({ state: 'partial', written: 2 })
    expect(finished).toEqual(['cdef'])
    expect(sent).toEqual([])
    expect(settled).toMatchObject([{ decision: 'finished', file: { written: 2, length: 6 } }])
  })

  test('needs a decision if the file is another one', () => {
    expect(() => write({ state: 'changed' })).toThrow(
      expect.objectContaining({ code: 'STEP_IN_DOUBT' }),
    )
  })
})
