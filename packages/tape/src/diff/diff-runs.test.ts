import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { asks, RunScript, says, told, user } from '../../test-support/run-script.js'
import { diffRuns } from '@retake/tape/diff'
import type { RunDiff } from '@retake/tape/diff'

/** Two turns around one tool, which is not wrapped. */
const refund = (days: number, { id = 'call_1', settings = {} } = {}): RunScript => {
  const call = { id, name: 'search_policy', args: { query: 'refund window' } }
  const policy = JSON.stringify({ text: `within ${days} days` })
  const first = [user('Refund order 1182')]
  const second = [...first, asks(call), told(policy, id)]
  return new RunScript()
    .chat(first, [call], { settings })
    .chat(second, `The window is ${days} days.`, { settings })
    .chat([...second, says(`The window is ${days} days.`), user('So?')], 'Approved.', { settings })
    .print(`window ${days}\n`)
    .print('done\n')
    .end()
}

const summary = ({ steps }: RunDiff): string[] =>
  steps.map(({ change, a, b }) => `${change} ${a?.label ?? '-'} ${b?.label ?? '-'}`)
const fields = ({ steps }: RunDiff): string[] =>
  steps.flatMap(({ a, fields: all, carried }) => [
    ...all.map(({ path }) => `${a?.label} ${path}`),
    ...carried.map((path) => `${a?.label} ${path} carried`),
  ])

describe('two runs of an agent', () => {
  test('that are equal do not differ, whatever their call ids and durations', () => {
    const again = refund(60, { id: 'call_zzz' })
    const found = diffRuns(refund(60).view(), again.wait(500).view())
    expect(found).toMatchObject({ equal: true, steps: [], output: [], outcome: [] })
    expect(found.counts).toEqual({ same: 4, changed: 0, moved: 0, removed: 0, added: 0 })
  })

  test.each([
    [
      'Gemini',
      'https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash:generateContent',
      (text: string) => ({
        systemInstruction: { parts: [{ text }] },
        contents: [{ role: 'user', parts: [{ text: 'Refund?' }] }],
      }),
    ],
    [
      'Cohere at Bedrock',
      'https://bedrock-runtime.us-east-1.amazonaws.com/model/cohere.command-r-v1:0/invoke',
      (text: string) => ({ preamble: text, message: 'Refund?', chat_history: [] }),
    ],
  ])('instructions to %s that differ are one difference of the conversation', (_, url, body) => {
    const run = (text: string) =>
      new RunScript().exchange(url, JSON.stringify(body(text)), ['{}']).end()
    const { steps } = diffRuns(run('Be careful.').view(), run('Be generous.').view())
    const found = steps.flatMap((step) => step.fields)
    expect(found).toHaveLength(1)
    expect(found[0]).toMatchObject({ area: 'messages' })
  })

  test('a tool result that differs is found where it comes in; further on it is carried', () => {
    const found = diffRuns(refund(60).view(), refund(30).view())
    expect(found.first).toEqual({
      in: 'step',
      change: 'changed',
      a: '1.1',
      b: '1.1',
      path: 'result » text',
    })
    expect(fields(found)).toEqual([
      '1.1 result » text',
      '2 answer[0].text',
      '2 messages[2] carried',
      '3 messages[2] carried',
      '3 messages[3] carried',
    ])
    expect(found.output).toMatchObject([
      { stream: 'stdout', a: { line: 1, text: 'window 60' }, b: { line: 1, text: 'window 30' } },
    ])
  })

  test('an answer that differs comes before the tool results that follow from it', () => {
    const inferred = (shipping: string): RunScript => {
      const call = { name: 'quote', args: { order: 1182 } }
      const first = [user('What does it cost?')]
      return new RunScript()
        .tool('greet', {}, 'hello')
        .chat(first, [call])
        .exchange('https://shop.example.com/shipping', '{}', [JSON.stringify({ shipping })])
        .chat([...first, asks(call), told(JSON.stringify({ total: shipping }))], 'Done.')
        .end()
    }
    const unwrapped = diffRuns(inferred('4.90').view(), inferred('5.90').view())
    expect(unwrapped.first).toMatchObject({ in: 'step', a: '3', path: 'response.shipping' })
    expect(fields(unwrapped)).toEqual([
      '3 response.shipping',
      '2.1 result » total',
      '4 messages[2] carried',
    ])

    // A tool that is recorded begins before the request that it makes.
    const recorded = (shipping: string): RunScript => {
      const run = new RunScript()
      const tool = run.add({ type: 'call', kind: 'tool', name: 'quote', site: '/agent.ts:2:2' })
      run.exchange('https://shop.example.com/shipping', '{}', [JSON.stringify({ shipping })])
      run.add({ type: 'result', op: tool, as: 'json' }, JSON.stringify({ total: shipping }))
      return run.end()
    }
    const wrapped = diffRuns(recorded('4.90').view(), recorded('5.90').view())
    expect(wrapped.first).toMatchObject({ in: 'step', a: '2', path: 'response.shipping' })
    expect(fields(wrapped)).toEqual(['2 response.shipping', '1 result.total'])
  })

  test('a step that only the second run has comes after the answer that led to it', () => {
    const script = (isFull: boolean): RunScript => {
      const run = new RunScript().chat([user('Hello')], isFull ? 'I look it up.' : 'No.')
      if (isFull) run.tool('look', {}, 'found')
      return run.exchange('https://example.com/log', '{}', ['{}']).end()
    }
    expect(summary(diffRuns(script(false).view(), script(true).view()))).toEqual([
      'changed 1 1',
      'added - 2',
    ])
  })

  test('settings of a request are compared, and the finer form of a conversation', () => {
    const settings = diffRuns(refund(60).view(), refund(60, { settings: { seed: 7 } }).view())
    expect(fields(settings)).toEqual(['1 seed', '2 seed', '3 seed'])
    const script = (extra: object): RunScript =>
      new RunScript().chat([{ ...user('Hello'), ...extra }], 'Hi').end()
    const finer = diffRuns(script({}).view(), script({ cache_control: { type: 'x' } }).view())
    expect(fields(finer)).toEqual(['1 messages[0].cache_control'])
  })

  test('only the requested differences count', () => {
    const only = (...areas: ('messages' | 'tools' | 'output' | 'usage')[]): RunDiff =>
      diffRuns(refund(60).view(), refund(30).view(), { only: areas })
    expect(fields(only('tools'))).toEqual(['1.1 result » text'])
    expect(only('usage')).toMatchObject({ equal: true, output: [] })
    expect(only('output')).toMatchObject({ equal: false, steps: [] })
    expect(only('output').first).toMatchObject({ in: 'output' })
  })

  test('a step put in is one added step; the conversation after it carries it', () => {
    const tool = (script: RunScript, id: string): RunScript =>
      script.tool('lookup_order', { id }, { id, item: `item ${id}` })
    const short = tool(tool(new RunScript(), '1181'), '1183').end()
    const long = tool(tool(tool(new RunScript(), '1181'), '1182'), '1183').end()
    expect(summary(diffRuns(short.view(), long.view()))).toEqual(['added - 2'])
    expect(summary(diffRuns(long.view(), short.view()))).toEqual(['removed 2 -'])
  })

  test('steps in another order have moved', () => {
    const script = (...names: readonly string[]): RunScript => {
      const run = new RunScript()
      for (const name of names) run.tool(name, { name }, `result of ${name}`)
      return run.end()
    }
    const found = diffRuns(script('one', 'two').view(), script('two', 'one').view())
    expect(found.counts).toMatchObject({ same: 1, moved: 1, added: 0, removed: 0 })
    expect(found.equal).toBe(false)
  })

  test('how they ended is part of the comparison', () => {
    const failed = diffRuns(new RunScript().end(0).view(), new RunScript().end(3).view())
    expect(failed).toMatchObject({ equal: false, first: { in: 'outcome', path: 'exitCode' } })
    const cutOff = new RunScript()
    cutOff.status = 'truncated'
    const found = diffRuns(new RunScript().end().view(), cutOff.view())
    expect(found.outcome).toContainEqual({ path: 'ended', a: true, b: false })
  })

  test('results of functions are compared by path', () => {
    const script = (days: number): RunScript => {
      const run = new RunScript({ scope: 'function' })
      run.add({ type: 'end', as: 'json' }, JSON.stringify({ window: { days } }))
      return run
    }
    expect(diffRuns(script(60).view(), script(30).view()).outcome).toEqual([
      { path: 'returned.window.days', a: 60, b: 30 },
    ])
  })

  test('binary bodies are compared by content', () => {
    const script = (last: number): RunScript =>
      new RunScript().exchange('https://example.com/x', 'hi', [new Uint8Array([255, 254, last])])
    expect(diffRuns(script(1).end().view(), script(1).end().view()).equal).toBe(true)
    expect(fields(diffRuns(script(1).end().view(), script(2).end().view()))).toEqual(['1 response'])
  })

  test('another port on this machine is not a difference, another host is', () => {
    const script = (url: string): RunScript => new RunScript().chat([user('x')], 'y', { url })
    const at = (place: string): string => `http://${place}/v1/chat/completions`
    const compare = (a: string, b: string): RunDiff =>
      diffRuns(script(at(a)).end().view(), script(at(b)).end().view())
    expect(compare('127.0.0.1:4000', '127.0.0.1:5000').equal).toBe(true)
    expect(fields(compare('127.0.0.1:4000', 'models.example.com'))).toEqual(['1 url'])
  })
})

test('the shared part of a branch is known and not read again', () => {
  const script = (answer: string, run = {}): RunScript =>
    new RunScript(run).tool('one', 1, 'same').tool('two', 2, answer).end()
  const parent = script('x')
  const branch = script('y', { id: 'run-b', parent: { run: 'run-a', seq: 3, chain: '' } })
  const reads: number[] = []
  const body = branch.body.bind(branch)
  branch.body = (seq) => {
    reads.push(seq)
    return body(seq)
  }
  const found = diffRuns(parent.view(), branch.view())
  expect(found.shared).toEqual({ run: 'run-a', events: 3 })
  expect(summary(found)).toEqual(['changed 2 2'])
  expect(reads).not.toContain(2)
})

test('a request that a fork changed is the first difference, in both directions', () => {
  const parent = refund(60)
  const branch = refund(60)
  const run = { ...branch.run, id: 'run-b', parent: { run: 'run-a', seq: 4, chain: '' } }
  Object.defineProperty(branch, 'run', { value: run })
  const edits = [
    { target: 'request', path: 'messages.2.content', value: 'within 30 days' },
  ] as const
  branch.details = { branch: { kind: 'fork', at: '2', edits } }
  const found = diffRuns(parent.view(), branch.view(), { shared: undefined })
  expect(found.first).toMatchObject({ in: 'step', a: '2', path: 'request.messages.2.content' })
  expect(found.steps[0]?.fields[0]).toMatchObject({
    a: '{"text":"within 60 days"}',
    b: 'within 30 days',
  })
  const back = diffRuns(branch.view(), parent.view(), { shared: undefined })
  expect(back.steps[0]?.fields[0]).toMatchObject({ a: 'within 30 days' })
})

describe('laws over whole runs', () => {
  const word = fc.constantFrom('refund', 'order', 'policy', 'ship', 'window', 'price', 'day')
  const step = fc.record({
    name: fc.constantFrom('find', 'buy'),
    words: fc.array(word, { maxLength: 5 }),
  })
  const runOf = (steps: readonly { name: string; words: readonly string[] }[]): RunScript => {
    const script = new RunScript()
    for (const { name, words } of steps) script.tool(name, { query: words }, words.join(' '))
    return script.end()
  }

  test('a run does not differ from itself', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 10 }), (steps) => {
        expect(diffRuns(runOf(steps).view(), runOf(steps).view()).equal).toBe(true)
      }),
    )
  })

  test('an addition in one direction is a removal in the other', () => {
    const steps = fc.array(step, { maxLength: 8 })
    fc.assert(
      fc.property(steps, steps, (left, right) => {
        const there = diffRuns(runOf(left).view(), runOf(right).view())
        const back = diffRuns(runOf(right).view(), runOf(left).view())
        expect(back.equal).toBe(there.equal)
        expect(back.counts).toEqual({
          ...there.counts,
          added: there.counts.removed,
          removed: there.counts.added,
        })
      }),
    )
  })
})
