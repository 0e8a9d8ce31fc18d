import { describe, expect, test } from 'vitest'
import { rowAt } from '@retake/tape/present'
import { RunScript } from '../../test-support/run-script.js'

const user = (content: string) => ({ role: 'user', content })

describe('rows', () => {
  test('come in pieces, the first one small, and from any place on', () => {
    const run = new RunScript()
    for (let count = 0; count < 1250; count++) run.tool('look', { count }, count)
    const model = run.model()
    const sizes = [...model.rows()].map((message) =>
      message.type === 'rows' ? [message.from, message.rows.label.length] : 'rest',
    )
    expect(sizes).toEqual([[0, 100], [100, 1000], [1100, 150], 'rest'])
    const [later] = model.rows(1249)
    expect(later?.type === 'rows' && rowAt(later.rows, 0)).toMatchObject({
      label: '1250',
      tool: 'look',
      title: 'look({"count":1249})',
    })
    expect([...model.rows(5000)].map(({ type }) => type)).toEqual(['rest'])
  })

  test('end with what needs all answers: who asked, tools that were only told of, sums', () => {
    const run = new RunScript()
    const calls = ['a', 'b'].map((id) => ({
      id,
      type: 'function',
      function: { name: id === 'a' ? 'look' : 'unseen', arguments: '{"x":1}' },
    }))
    const requested = { role: 'assistant', tool_calls: calls }
    run.chat([user('go')], requested)
    run.tool('look', { x: 1 }, 'seen')
    const reported = { role: 'tool', tool_call_id: 'b', content: 'told' }
    run.chat([user('go'), requested, reported], 'done')
    const rest = [...run.model().rows()].at(-1)
    expect(rest).toMatchObject({ type: 'rest', parents: [[1, '1']] })
    if (rest?.type !== 'rest') return
    expect(rowAt(rest.inferred, 0, true)).toMatchObject({
      label: '1.1',
      parent: '1',
      tool: 'unseen',
      inferred: true,
    })
    expect(rest.totals).toMatchObject({ modelCalls: 2, toolCalls: 2 })
  })
})

test('a call whose answer a guard served was not really asked', () => {
  const run = new RunScript()
  const intent = { guard: 'shop', call: 1, fingerprint: 'f', occurrence: 1, policy: 'p' }
  for (const served of [undefined, { run: 'earlier', seq: 3 }]) {
    run.add({ type: 'draw', kind: 'guard', value: { ...intent, verdict: 'allow' } })
    const op = run.add({ type: 'call', kind: 'tool', name: 'pay', as: 'json' }, '{}')
    run.add({ type: 'result', op, guard: { status: 'done', ...(served && { served }) } })
  }
  const [rows] = run.model().rows()
  expect(rows?.type === 'rows' && [0, 1].map((index) => rowAt(rows.rows, index).origin)).toEqual([
    'live',
    'served',
  ])
})

describe('the head of a run', () => {
  test('says what was recorded, how it ended and where', () => {
    const run = new RunScript({ command: ['python', 'agent.py'], cwd: '/app' })
    run.tool('look', {}, 1)
    const stack =
      'Error: no\n    at new Agent (/app/node_modules/x.js:1:1)\n    at main (/app/a.ts:9:3)'
    const error = { class: 'Error', name: 'Error', message: 'x'.repeat(100_000), stack }
    run.add({ type: 'end', exitCode: 1, error })
    const head = run.killed({ status: 'failed', redacted: true }).head()
    expect(head).toMatchObject({
      recorded: 'command',
      command: ['python', 'agent.py'],
      status: 'failed',
      exit: { code: 1 },
      exitSite: '/app/a.ts:9:3',
      recordedSteps: 1,
      redacted: true,
    })
    expect(JSON.stringify(head).length).toBeLessThan(20_000)
  })

  test('stays small where a fork put a large answer', () => {
    const run = new RunScript({
      branch: {
        kind: 'fork',
        at: '1',
        edits: [{ target: 'answer', value: 'x'.repeat(5_000_000) }],
      },
    })
    const head = run.model().head()
    expect(JSON.stringify(head).length).toBeLessThan(50_000)
    expect(head.branch?.edits[0]?.value).toMatchObject({ $clipped: { length: 5_000_000 } })
  })
})
