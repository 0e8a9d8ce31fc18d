import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Divergence, DivergenceKind, Mismatch } from '@retake/engine'
import { openTape } from '@retake/tape/node'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Provider, startProvider } from '../support/loopback-provider.mjs'
import { rewriteTape } from '../support/rewrite-tape.js'
import { copyAgents, linkModules, runTask, runTasks } from '../support/run-library.mjs'
import { makeWorkspace, type Workspace } from '../support/run-retake.mjs'
import { sampled } from '../support/soak.js'

type Tape = ReturnType<typeof openTape>

/** An edit of the agent's source that replay must notice, and how. */
interface Control {
  readonly title: string
  readonly edit: readonly [from: string, to: string]
  /** The event at which replay must stop. */
  readonly at: (tape: Tape) => number
  readonly kind: DivergenceKind
  readonly code: Divergence['code']
  readonly summary: RegExp
  readonly mismatch?: Mismatch
}

const bodyText = (tape: Tape, seq: number): string => Buffer.from(tape.body(seq)).toString()

/** The first event of a type whose body contains the text. */
const first =
  (type: string, text = '') =>
  (tape: Tape): number => {
    for (const event of tape.events()) {
      if (event.type === type && bodyText(tape, event.seq).includes(text)) return event.seq
    }
    throw new Error(`no ${type} with "${text}" on the tape`)
  }

/** The agent's own draw; a process makes others while it starts. */
const firstRandom = (tape: Tape): number =>
  [...tape.events()].find((event) => event.type === 'draw' && event.kind === 'Math.random')?.seq ??
  Number.NaN

/** The event that follows the last part of the last answer. */
const afterLastAnswer = (tape: Tape): number => {
  const parts = [...tape.events()].filter(
    (event) => event.type === 'deliver' && event.part === 'end',
  )
  return (parts.at(-1)?.seq ?? Number.NaN) + 1
}

const planLine = `const plan = await ask(base, 'Plan the refund.')`
const orderLine = 'const order = await lookUpOrder({ id: 1182 })'
const lastCall = `await ask(base, 'Close the ticket.')`
const posts = String.raw`POST http://127\.0\.0\.1:\d+/v1/chat/completions`

/** Edits that stop a run of the function and a run of the whole program at the same event. */
const controls: readonly Control[] = [
  {
    title: 'an edited prompt',
    edit: ['Plan the refund.', 'Plan a refund.'],
    at: first('request', 'Plan the refund.'),
    kind: 'different',
    code: 'call-differs',
    summary: new RegExp(`^${posts} differs in body.messages\\[0\\].content$`),
    mismatch: {
      field: 'body.messages[0].content',
      recorded: 'Plan the refund.',
      current: 'Plan a refund.',
    },
  },
  {
    title: 'another model',
    edit: ['gpt-example', 'gpt-other'],
    at: first('request'),
    kind: 'different',
    code: 'call-differs',
    summary: /differs in body.model$/,
    mismatch: { field: 'body.model', recorded: 'gpt-example', current: 'gpt-other' },
  },
  {
    title: 'an extra random draw',
    edit: ['const ticket = Math.random()', 'const ticket = (Math.random(), Math.random())'],
    at: first('request'),
    kind: 'unexpected',
    code: 'other-event',
    summary: new RegExp(`^the tape has ${posts}, the program did a read of Math.random$`),
  },
  {
    title: 'a random draw less',
    edit: ['const ticket = Math.random()', 'const ticket = 0.5'],
    at: firstRandom,
    kind: 'unexpected',
    code: 'other-event',
    summary: new RegExp(`^the tape has a read of Math.random, the program did ${posts}$`),
  },
  {
    title: 'a draw from another source',
    edit: ['const ticket = Math.random()', 'const ticket = Date.now()'],
    at: firstRandom,
    kind: 'unexpected',
    code: 'other-event',
    summary: /^the tape has a read of Math.random, the program did a read of Date.now$/,
  },
  {
    title: 'a changed header that matters',
    edit: ['assistants=v2', 'assistants=v3'],
    at: first('request'),
    kind: 'different',
    code: 'call-differs',
    summary: /differs in header openai-beta$/,
    mismatch: { field: 'header openai-beta', recorded: 'assistants=v2', current: 'assistants=v3' },
  },
  {
    title: 'a header more that matters',
    edit: [`'openai-beta'`, `'x-tenant': 'b', 'openai-beta'`],
    at: first('request'),
    kind: 'different',
    code: 'call-differs',
    summary: /differs in header x-tenant$/,
    mismatch: { field: 'header x-tenant', recorded: undefined, current: 'b' },
  },
  {
    title: 'another address',
    edit: ['/v1/chat', '/v2/chat'],
    at: first('request'),
    kind: 'different',
    code: 'call-differs',
    summary: /differs in url$/,
  },
  {
    title: 'reordered calls of the model',
    edit: [
      `const policy = await ask(base, 'Quote the policy.')
  const history = await ask(base, 'Sum up the history.')`,
      `const history = await ask(base, 'Sum up the history.')
  const policy = await ask(base, 'Quote the policy.')`,
    ],
    at: first('request', 'Quote the policy.'),
    kind: 'different',
    code: 'call-differs',
    summary: /differs in body.messages\[0\].content$/,
    mismatch: {
      field: 'body.messages[0].content',
      recorded: 'Quote the policy.',
      current: 'Sum up the history.',
    },
  },
  {
    title: 'a tool called before the model instead of after it',
    edit: [`${planLine}\n  ${orderLine}`, `${orderLine}\n  ${planLine}`],
    at: first('request', 'Plan the refund.'),
    kind: 'unexpected',
    code: 'other-event',
    summary: new RegExp(`^the tape has ${posts}, the program did tool call look_up_order$`),
  },
  {
    title: 'edited arguments of a tool',
    edit: ['lookUpOrder({ id: 1182 })', 'lookUpOrder({ id: 1183 })'],
    at: first('call', '1182'),
    kind: 'different',
    code: 'call-differs',
    summary: /^tool call look_up_order differs in body.id$/,
    mismatch: { field: 'body.id', recorded: 1182, current: 1183 },
  },
  {
    title: 'another tool',
    edit: [`tool('look_up_order'`, `tool('find_order'`],
    at: first('call', '1182'),
    kind: 'unexpected',
    code: 'other-call',
    summary: /^the tape has tool call look_up_order, the program did tool call find_order$/,
    mismatch: { field: 'name', recorded: 'look_up_order', current: 'find_order' },
  },
  {
    title: 'a changed timer',
    edit: ['sleep(5)', 'sleep(6)'],
    at: first('timer'),
    kind: 'different',
    code: 'call-differs',
    summary: /^a timeout of 6 ms differs in ms$/,
    mismatch: { field: 'ms', recorded: 5, current: 6 },
  },
  {
    title: 'changed output',
    edit: [`console.log('ticket'`, `console.log('case'`],
    at: first('output', 'ticket'),
    kind: 'output',
    code: 'output-differs',
    summary: /^it wrote something else to stdout$/,
  },
  {
    title: 'one extra call',
    edit: [lastCall, `${lastCall}\n  ${lastCall}`],
    at: afterLastAnswer,
    kind: 'unexpected',
    code: 'other-event',
    summary: new RegExp(`^the tape has .*, the program did ${posts}$`),
  },
]

/** Edits of the function that only its caller can see. */
const functionControls: readonly Control[] = [
  {
    title: 'a missing last call',
    edit: [lastCall, ''],
    at: first('request', 'Close the ticket.'),
    kind: 'missing',
    code: 'ended-early',
    summary: new RegExp(`^the program ended, but the tape continues with ${posts}$`),
  },
  {
    title: 'another result',
    edit: ['return { draft }', 'return { draft: 7 }'],
    at: first('end'),
    kind: 'result',
    code: 'end-differs',
    summary: /^the run ended differently$/,
  },
  {
    title: 'an error instead of a result',
    edit: ['return { draft }', `throw new RangeError('no refund')`],
    at: first('end'),
    kind: 'result',
    code: 'end-differs',
    summary: /^the run ended differently$/,
    mismatch: { field: 'error', recorded: undefined, current: 'no refund' },
  },
]

/** Edits of the program around it. */
const programControls: readonly (Control & { readonly file?: string })[] = [
  {
    title: 'a missing last call',
    edit: [lastCall, ''],
    at: first('request', 'Close the ticket.'),
    kind: 'unexpected',
    code: 'other-event',
    summary: new RegExp(`^the tape has ${posts}, the program did a write to stdout$`),
  },
  {
    title: 'a changed exit code',
    file: 'refund-main.mjs',
    edit: ['exitCode = 4', 'exitCode = 5'],
    at: first('end'),
    kind: 'result',
    code: 'end-differs',
    summary: /^the run ended differently$/,
    mismatch: { field: 'exit code', recorded: 4, current: 5 },
  },
  {
    title: 'a missing last line of output',
    file: 'refund-main.mjs',
    edit: ['console.log(draft)', ''],
    at: afterLastAnswer,
    kind: 'missing',
    code: 'ended-early',
    summary: /^the program ended, but the tape continues with a write to stdout$/,
  },
]

/** Edits that change nothing a provider or a reader would notice. */
const harmless = [
  ['another user agent', ['refunds/1.0', 'refunds/2.0']],
  ['an API key', [`'openai-beta'`, `'x-api-key': String(base.length), 'openai-beta'`]],
  ['a comment and a blank line', ['await sleep(5)', '// a breath\n\n  await sleep(5)']],
] as const

/** Rows for `test.each`, which shows the title. */
const named = <C extends Control>(all: readonly C[]) =>
  all.map((each) => [each.title, each] as const)

/** The source with one place changed; the place must be there. */
function edited(source: string, [from, to]: readonly [string, string]): string {
  expect(source).toContain(from)
  return source.replace(from, () => to)
}

type Expected = Omit<Control, 'title' | 'edit'>

function expectDivergence(found: Divergence | undefined, tape: Tape, control: Expected): void {
  expect(found).toMatchObject({ seq: control.at(tape), kind: control.kind })
  expect(found?.code).toBe(control.code)
  expect(found?.summary).toMatch(control.summary)
  expect(found?.explanation).not.toBe('')
  const differs = control.mismatch ? [withoutUndefined(control.mismatch)] : []
  expect(found?.mismatches).toEqual(expect.arrayContaining(differs))
}

/** As it comes out of JSON. */
const withoutUndefined = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

let provider: Provider
beforeAll(async () => {
  provider = await startProvider({ maxLatencyMs: 2 })
})
afterAll(() => provider.close())

/** Requests that reached the provider while `work` ran. */
async function requestsDuring(work: () => Promise<void>): Promise<number> {
  const before = provider.counts().requests
  await work()
  return provider.counts().requests - before
}

describe.concurrent('a function that was changed after it was recorded', () => {
  let workspace: Workspace
  let source: string
  let tape: Tape

  let copies = 0
  /** The task of replaying the agent with these edits. */
  const edit = async (
    edits: readonly (readonly [string, string])[],
    options: { mode?: 'strict' | 'observe' } = {},
    path = tape.path,
  ) => {
    const agent = join(workspace.folder, `edited-${copies++}.mjs`)
    await writeFile(agent, edits.reduce(edited, source))
    return { mode: 'replay' as const, agent, base: provider.url, tape: path, options }
  }
  const replayEdited = async (...change: Parameters<typeof edit>) =>
    runTask(await edit(...change), { cwd: workspace.folder })

  beforeAll(async () => {
    workspace = await makeWorkspace()
    await linkModules(workspace.folder)
    await copyAgents(workspace.folder, ['library/refund-agent.mjs'])
    const agent = join(workspace.folder, 'refund-agent.mjs')
    source = await readFile(agent, 'utf8')
    const { result } = await runTask(
      { mode: 'record', agent, base: provider.url, dir: workspace.folder },
      { cwd: workspace.folder },
    )
    tape = openTape(result.run?.path ?? '')
  })
  afterAll(() => workspace.remove())

  test('unchanged, it replays', async () => {
    const { result } = await replayEdited([])
    expect(result.error).toBeUndefined()
    expect(result.divergences).toEqual([])
    expect(result.output).toEqual(JSON.parse(bodyText(tape, first('end')(tape))))
  })

  test.each(named([...controls, ...functionControls]))('%s stops replay', async (_, control) => {
    const requests = await requestsDuring(async () => {
      const { result } = await replayEdited([control.edit])
      expect(result.error).toMatchObject({ name: 'ReplayDiverged', code: 'REPLAY_DIVERGED' })
      expectDivergence(result.error?.divergence, tape, control)
      // The message alone says where and what.
      expect(result.error?.message).toContain(`at event ${control.at(tape)}`)
      expect(result.error?.message).toContain(result.error?.divergence?.summary)
    })
    expect(requests).toBe(0)
  })

  test.each(harmless)('%s does not', async (_title, edit) => {
    const { result } = await replayEdited([edit])
    expect(result.error).toBeUndefined()
    expect(result.divergences).toEqual([])
  })

  test('a tape whose answer was edited stops at the request that quotes it, not before', async () => {
    const path = join(workspace.folder, 'edited-answer.tape')
    const plan = first('request', 'Plan the refund.')(tape)
    const requests = await requestsDuring(async () => {
      rewriteTape(tape.path, path, (entry) => {
        const { event, body } = entry
        if (event.type !== 'deliver' || event.op !== plan || event.part !== 'chunk') return entry
        return {
          event,
          body: Buffer.from(Buffer.from(body).toString().replace('answer', 'ANSWER')),
        }
      })
      expect(openTape(path).verify()).toMatchObject({ ok: true })
      const { result } = await replayEdited([], {}, path)
      expectDivergence(result.error?.divergence, openTape(path), {
        at: first('request', 'Write it: answer'),
        kind: 'different',
        code: 'call-differs',
        summary: /differs in body.messages\[0\].content$/,
      })
      const [mismatch] = result.error?.divergence?.mismatches ?? []
      expect(mismatch?.recorded).toMatch(/^Write it: answer /)
      expect(mismatch?.current).toMatch(/^Write it: ANSWER /)
    })
    expect(requests).toBe(0)
  })

  test('observe mode reports every divergence of several, serves on and stays offline', async () => {
    const chosen = ['an edited prompt', 'edited arguments of a tool', 'changed output']
    const expected = controls.filter(({ title }) => chosen.includes(title))
    const requests = await requestsDuring(async () => {
      const { result, stdout } = await replayEdited(
        expected.map(({ edit }) => edit),
        { mode: 'observe' },
      )
      expect(result.error).toBeUndefined()
      expect(result.divergences).toHaveLength(expected.length)
      for (const [index, control] of expected.entries()) {
        expectDivergence(result.divergences?.[index], tape, control)
      }
      expect(stdout).toMatch(/^case 0\.\d+ order 0\.\d+$/m)
      // Its calls were answered from the tape, so it came to the recorded end.
      const recorded = JSON.parse(bodyText(tape, first('end')(tape))) as unknown
      expect(result.output).toEqual(recorded)
    })
    expect(requests).toBe(0)
  })

  test('observe mode reports each of them at the same event, and stays offline', async () => {
    const requests = await requestsDuring(async () => {
      const tasks = controls.map((control) => edit([control.edit], { mode: 'observe' }))
      const { results } = await runTasks(await Promise.all(tasks), { cwd: workspace.folder })
      for (const [index, control] of controls.entries()) {
        expectDivergence(results[index]?.divergences?.[0], tape, control)
      }
    })
    expect(requests).toBe(0)
  })
})

describe('a program that was changed after it was recorded', () => {
  let workspace: Workspace
  let sources: Readonly<Record<string, string>>
  let tape: Tape

  const replayEdited = async (
    { edit, file = 'refund-agent.mjs' }: Pick<Control, 'edit'> & { readonly file?: string },
    flags: readonly string[] = [],
  ) => {
    for (const [name, source] of Object.entries(sources)) {
      await writeFile(join(workspace.folder, name), name === file ? edited(source, edit) : source)
    }
    return workspace.retake(['replay', 'last', ...flags])
  }

  beforeAll(async () => {
    workspace = await makeWorkspace()
    await linkModules(workspace.folder)
    const names = ['refund-agent.mjs', 'refund-main.mjs']
    await copyAgents(
      workspace.folder,
      names.map((name) => `library/${name}`),
    )
    const texts = names.map(async (name) => [
      name,
      await readFile(join(workspace.folder, name), 'utf8'),
    ])
    sources = Object.fromEntries(await Promise.all(texts)) as Record<string, string>
    const recorded = await workspace.retake(['record', '--json', 'refund-main.mjs'], {
      env: { AGENT_BASE_URL: provider.url },
    })
    if (recorded.code !== 4) throw new Error(recorded.stderr)
    const { tape: path } = JSON.parse(recorded.stderr) as { tape: string }
    tape = openTape(path)
  })
  afterAll(() => workspace.remove())

  const tested = sampled([...controls, ...programControls], (_, index) => index % 5 === 0)
  test.each(named(tested))('%s stops replay with exit code 3', async (_, control) => {
    const requests = await requestsDuring(async () => {
      const { code, stdout } = await replayEdited(control, ['--json'])
      const receipt = JSON.parse(stdout) as { identical: boolean; divergences: Divergence[] }
      expect(receipt.identical).toBe(false)
      expect(receipt.divergences).toHaveLength(1)
      expectDivergence(receipt.divergences[0], tape, control)
      expect(code).toBe(3)
    })
    expect(requests).toBe(0)
  })

  test('the diff on the terminal names event, field, both values and the line of code', async () => {
    const control = controls[0] as Control
    const { code, stderr } = await replayEdited(control)
    expect(code).toBe(3)
    expect(stderr).toContain(`diverged at event ${control.at(tape)} of ${tape.count}`)
    expect(stderr).toMatch(
      /body\.messages\[0\]\.content\n.*- .*"Plan the refund\."\n.*\+ .*"Plan a refund\."/,
    )
    expect(stderr).toMatch(/refund-agent\.mjs:\d+:\d+/)
    expect(stderr).not.toMatch(/\n\s+at \w+ \(/)
  })

  test('observe mode continues, reports all differences and exits with code 3', async () => {
    const { code, stdout, stderr } = await replayEdited({ edit: ['sleep(5)', 'sleep(6)'] }, [
      '--observe',
      '--json',
    ])
    const { divergences } = JSON.parse(stdout) as { divergences: Divergence[] }
    expect(divergences.map(({ seq }) => seq)).toEqual([first('timer')(tape)])
    expect(stderr).toMatch(/ticket 0\.\d+ order/)
    expect(code).toBe(3)
  })
})
