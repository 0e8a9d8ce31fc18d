import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { agentPath, makeWorkspace, run } from '../support/run-retake.mjs'
import { isSoak } from '../support/soak.js'

let workspace: Awaited<ReturnType<typeof makeWorkspace>>
beforeAll(async () => {
  workspace = await makeWorkspace()
})
afterAll(() => workspace.remove())

async function printed(script: string, ...args: string[]): Promise<Record<string, unknown>> {
  const { stdout, stderr } = await run(
    process.execPath,
    [agentPath(`pinned/${script}`), ...args, `runs-${args.join('-')}`],
    workspace.folder,
  )
  expect(stderr).toBe('')
  return JSON.parse(stdout) as Record<string, unknown>
}

describe('random coalitions of an agent with three concurrent lanes', () => {
  test.each([
    ['fetch', 'conversation', isSoak ? '60' : '12'],
    ['http', 'conversation', isSoak ? '12' : '4'],
    ['stream', 'prompt', isSoak ? '6' : '3'],
    ['http2', 'prompt', isSoak ? '6' : '3'],
  ])(
    '%s, %s: pinned steps are as recorded, free steps as given, and only those go live',
    async (seam, style, forks) => {
      const result = await printed('coalitions.mjs', seam, style, forks)
      expect(result).toMatchObject({ steps: 14, keys: 14, wrong: [], isUnchanged: true })
      expect(result['asked']).toBe(result['live'])
      expect(result['live']).toBeGreaterThan(0)
    },
  )
})

describe('a fork with pinned steps', () => {
  let found: Record<string, unknown>
  beforeAll(async () => {
    found = await printed('cases.mjs')
  })

  test.each(['fetch', 'http'])('%s: sends the recorded request in frozen mode', (seam) => {
    const { asked, recorded, ...rest } = found[`frozen ${seam}`] as Record<string, unknown>
    expect(asked).toEqual(recorded)
    expect(rest).toMatchObject({
      isOther: [true, true],
      kept: [true, true, true, true],
      // No held tool ran.
      ran: 0,
      report: { forced: ['2', '3', '6'], unmatched: 0, live: 2 },
    })
  })

  test.each(['fetch', 'http'])('%s: leaves steps free that the recording does not have', (seam) => {
    expect(found[`longer ${seam}`]).toMatchObject({
      seen: 8,
      last: true,
      replays: true,
      report: { forced: ['6'], unmatched: 2, live: 2 },
    })
  })

  test.each(['fetch', 'http'])(
    '%s: takes no steps of another lane for a lane that continues',
    (seam) => {
      const longer = { ann: 3, isBenKept: true, unmatched: 2, live: 2 }
      expect(found[`longer lane ${seam}`]).toEqual(longer)
    },
  )

  test.each(['fetch', 'http', 'http2'])('%s: opens no connection for pinned steps', (seam) => {
    expect(found[`gone ${seam}`]).toEqual({ same: [false, true], live: 1 })
  })

  test('is deterministic if its simulator is', () => {
    expect(found['outcomes']).toBe(1)
  })

  test('is a replay if all steps are pinned', () => {
    expect(found['replay']).toEqual({ isSame: true, asked: 0 })
  })

  test('fails if its simulator fails or a label does not exist', () => {
    expect(found['broken']).toEqual({ code: 'SIMULATOR_FAILED', why: 'It failed: out of ideas.' })
    expect(found['unknown']).toBe('NO_SUCH_STEP')
  })

  test('passes given errors to the agent', () => {
    expect(found['failing']).toEqual(['fetch failed', 'no line'])
    expect(found['failingTool']).toBe('no tool')
  })

  test('pins and substitutes child processes, also synchronous ones', () => {
    expect(found['processes']).toEqual({
      first: [false, true, true],
      second: [true, false, true],
      third: [true, true, false],
      given: ['a\n', 'b\n', 'c\n'],
    })
  })

  test('counts a pinned call of a guarded tool once, without taking a slot', () => {
    expect(found['guarded']).toEqual({ ran: 2, same: [false, true, false], forced: ['2'], live: 2 })
  })

  test('answers an MCP request with its current id', () => {
    expect(found['mcp']).toMatchObject({
      calls: 1,
      bought: true,
      unmatched: 1,
      labels: ['1', '2', '3'],
    })
  })
})
