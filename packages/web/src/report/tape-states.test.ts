import { mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { openIntactTape } from '@retake/tape/node'
import { afterAll, describe, expect, test } from 'vitest'
import { sampleDrafts, tapeBytes } from '../../../../test/support/tape-bytes.js'
import { verifyRecordedTape } from '@retake/runner/verify'
import { reportRun } from './report-run.js'
import { RunModels } from '../ui/runs/run-models.js'
import { RunStore, statusOf, summarizeRun, viewRun } from '@retake/runner/runs'

const folder = mkdtempSync(path.join(tmpdir(), 'retake-states-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const { bytes, ends } = tapeBytes(sampleDrafts(), { sealed: true })
const whole = Buffer.from(bytes)
const seal = ends.length - 1
const index = Buffer.from('{"index":{"count":14,"seal":0}}\t{"length":50,"crc":"00000000"}\n')

function damagedAt(text: string): Buffer {
  const copy = Buffer.from(whole)
  const at = copy.indexOf(text)
  copy[at] = (copy[at] ?? 0) ^ 1
  return copy
}

/** Statements of each part of Retake about one file. */
async function statesOf(content: Buffer) {
  const file = path.join(folder, 'run-1.tape')
  writeFileSync(file, content)
  // A tape that was just written counts as being recorded.
  utimesSync(file, 1, 1)
  const row = summarizeRun('run-1', file)
  const shown = openIntactTape(file)
  const { model } = new RunModels(new RunStore(folder)).open('run-1')
  const report = reportRun(file, { withSource: false, redact: [], allowsSecrets: true })
  const options = { replay: false, allowCutOff: false, strictFiles: false }
  const { integrity, ok } = await verifyRecordedTape(file, { ...options, code: 'today' })
  return {
    list: 'error' in row ? 'damaged' : row.status,
    show: statusOf(viewRun(shown), shown),
    ui: model.head().status,
    banner: model.head().damage?.event,
    report: report.notes,
    isDamaged: report.isDamaged,
    verify: integrity,
    ok,
    events: shown.count,
  }
}

const inAll = (state: string) => ({ list: state, show: state, ui: state })

describe('list, show, verify, the viewer and a report agree', () => {
  test('on a whole tape', async () => {
    expect(await statesOf(whole)).toMatchObject({ ...inAll('done'), verify: 'intact', ok: true })
  })

  test('on a tape that lost its seal, or a part of it, after the end of the run', async () => {
    for (const cut of [ends[seal - 1] ?? 0, (ends[seal - 1] ?? 0) + 9, whole.length - 3])
      expect(await statesOf(whole.subarray(0, cut))).toMatchObject({
        ...inAll('cut off'),
        verify: 'cut off',
        ok: false,
      })
  })

  test('on a tape without the end of the run', async () => {
    const found = await statesOf(whole.subarray(0, ends[seal - 2]))
    expect(found).toMatchObject({ ...inAll('killed'), verify: 'cut off', ok: false })
    expect(found.report).toEqual([
      'The recording was cut off: the report shows its 12 intact events.',
    ])
  })

  /** Name, content, first damaged event, and what `list` says, which does not read every body. */
  const damaged: [string, Buffer, number, string][] = [
    ['a changed body', damagedAt('data: {"seq"'), 4, 'done'],
    ['a changed line', damagedAt('"kind":"file"'), 6, 'damaged'],
    ['junk after the seal', Buffer.concat([whole, Buffer.from('junk\n')]), ends.length, 'damaged'],
    [
      'another index after the seal',
      Buffer.concat([whole.subarray(0, ends[seal]), index]),
      ends.length,
      'damaged',
    ],
  ]

  test.each(damaged)(
    'on a damaged tape, of which they show the intact part: %s',
    async (_, content, event, list) => {
      const found = await statesOf(content)
      expect(found).toMatchObject({
        ...inAll('damaged'),
        list,
        banner: event,
        verify: 'damaged',
        ok: false,
        isDamaged: true,
        events: event,
      })
      expect(found.report[0]).toContain(`The tape is damaged at event ${event}: `)
    },
  )
})
