import { afterAll, beforeAll, expect, test } from 'vitest'
import { startModelServer } from '@retake/engine/testing'
import type { ModelServer } from '@retake/engine/testing'
import { answerAsTeam, teamPlaces } from '../support/ai-sdk-team.js'
import { refusalOf, replayWith, unchanged, withNamedRun } from '../support/named-run.js'
import { agentPath } from '../support/run-retake.mjs'
import { onlyTape, stepPlaces } from '../support/step-places.js'
import { soakOnly } from '../support/soak.js'

const program = agentPath('frameworks/ai-sdk-team.mjs')
const adapter = import.meta.resolve('retake/ai-sdk')
const withNames = `
  import { nameAgent, retakeTelemetrySettings } from '${adapter}'
  globalThis.nameAgent = nameAgent
  globalThis.telemetryOf = (name) => ({ experimental_telemetry: retakeTelemetrySettings(name) })
`
/** Telemetry of the program's own, which prints spans, with or without names for steps. */
const ownTracer = (wrap: string) => `
  import { retakeTracer } from '${adapter}'
  import { trace } from '${import.meta.resolve('@opentelemetry/api')}'
  const noop = trace.getTracer('none')
  const printing = {
    startSpan: (...args) => noop.startSpan(...args),
    startActiveSpan: (name, ...rest) => {
      console.log('span', name)
      return noop.startActiveSpan(name, ...rest)
    },
  }
  const tracer = ${wrap}
  globalThis.telemetryOf = (functionId) => ({
    experimental_telemetry: { isEnabled: true, functionId, tracer },
  })
`

let server: ModelServer
beforeAll(async () => {
  server = await startModelServer({ answer: answerAsTeam })
})
afterAll(() => server.stop())

test('steps carry agents and tools of version 6: nested, streamed and concurrent; a replay needs no names', async () => {
  await withNamedRun({ program, names: withNames, baseUrl: server.url }, async (run) => {
    const lines = stepPlaces(onlyTape(run.workspace.folder)).toSorted()
    expect(lines).toEqual(teamPlaces('embed this | agent memory'))
    expect(await replayWith(run, '')).toEqual(unchanged(run))
  })
})

test('spans still go to a tracer of the program', async () => {
  const names = ownTracer('retakeTracer(printing)')
  await withNamedRun({ program, names, baseUrl: server.url }, async (run) => {
    expect(run.recorded.stdout).toContain('span ai.generateText.doGenerate\n')
    expect(run.recorded.stdout).toContain('span ai.toolCall\n')
    const lines = stepPlaces(onlyTape(run.workspace.folder))
    expect(lines).toContain('look up Rome | agent planner > tool look_up')
    expect(await replayWith(run, ownTracer('printing'))).toEqual(unchanged(run))
  })
})

test('recorded without names, replayed with them: identical', async () => {
  soakOnly()
  await withNamedRun({ program, names: '', baseUrl: server.url }, async (run) => {
    expect(await replayWith(run, withNames)).toEqual(unchanged(run))
  })
})

test('an unsupported version is refused with its name and the supported range', async () => {
  const { code, stderr } = await refusalOf(`${withNames}\ntelemetryOf('planner')`, 'ai', '5.0.40')
  expect(code).toBe(1)
  expect(stderr).toMatch(/FRAMEWORK_NOT_SUPPORTED[^]*ai 5\.0\.40[^]*6\.0 to 7\.x/)
})
