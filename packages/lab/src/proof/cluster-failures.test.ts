import { expect, test } from 'vitest'
import { RunScript } from '../../../tape/test-support/run-script.js'
import { clusterFailures, type FailedRun } from './cluster-failures.js'
import { detectSymptoms } from './symptoms.js'

const failed = (script: RunScript, more: Partial<FailedRun> = {}): FailedRun => {
  const run = script.view()
  return {
    run,
    symptoms: detectSymptoms(run, more.error === undefined ? {} : { error: more.error }),
    ...more,
  }
}

const thrown = (message: string, site: string, startedAt: number): FailedRun =>
  failed(new RunScript({ startedAt }).end(1), {
    error: { class: 'Error', message, stack: `Error: ${message}\n    at main (${site})` },
  })

test('runs that fail at the same line belong together, whatever their message', () => {
  const clusters = clusterFailures([
    thrown('order 17 is missing', '/app/agent.ts:31:7', 1),
    thrown('order 18 is missing', '/app/agent.ts:31:9', 3),
    thrown('no rate', '/app/agent.ts:90:1', 2),
  ])
  expect(clusters.map(({ site, runs }) => [site, runs.map(({ run }) => run.startedAt)])).toEqual([
    ['/app/agent.ts:31', [3, 1]],
    ['/app/agent.ts:90', [2]],
  ])
})

test('clusters of the same size are sorted by their newest run', () => {
  const clusters = clusterFailures([
    thrown('a', '/app/a.ts:1:1', 1),
    thrown('b', '/app/b.ts:1:1', 2),
  ])
  expect(clusters.map(({ newestAt }) => newestAt)).toEqual([2, 1])
})

test('a symptom says more than that something was thrown', () => {
  const script = new RunScript()
  const repeated = failed(
    script.tool('create_ticket', { a: 1 }, 'ok').tool('create_ticket', { a: 1 }, 'ok').end(1),
  )
  const [cluster] = clusterFailures([repeated])
  expect(cluster).toMatchObject({
    class: 'repeated-call',
    title: 'create_ticket was called 2 times with the same arguments.',
  })
})

test('runs that only an oracle failed are distinguished by its text, without values', () => {
  const wrong = (oracleReason: string): FailedRun =>
    failed(new RunScript().end(0), { oracleReason })
  const clusters = clusterFailures([
    wrong('expected "approve", got "deny"'),
    wrong('expected "refund", got ""'),
    wrong('the answer is too long'),
  ])
  expect(clusters.map(({ class: kind, runs }) => [kind, runs.length])).toEqual([
    ['unknown', 2],
    ['unknown', 1],
  ])
})

test('the steps found by blame distinguish failures', () => {
  const withCause = (tool: string): FailedRun => {
    const run = new RunScript().tool(tool, {}, 'x').end(0).view()
    const findings = { causes: [{ role: 'root', steps: ['1'] }] } as unknown as NonNullable<
      FailedRun['findings']
    >
    return { run, symptoms: [], oracleReason: 'wrong', findings }
  }
  expect(
    clusterFailures([withCause('search'), withCause('lookup'), withCause('search')]).map(
      ({ cause }) => cause,
    ),
  ).toEqual(['search', 'lookup'])
})
