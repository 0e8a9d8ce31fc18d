import { readFileSync } from 'node:fs'
import { symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { readRun, type Tape } from '@retake/tape'
import { openTape } from '@retake/tape/node'
import { afterAll, describe, expect, test } from 'vitest'
import { ForkScene, removeScenes, type Branched } from '../support/forking.js'
import { sampled, soakOnly } from '../support/soak.js'

afterAll(removeScenes)

const modules = fileURLToPath(new URL('../../node_modules', import.meta.url))

/** Twelve questions, each with what the one before was answered. */
const agent = `
import OpenAI from 'openai'

const client = new OpenAI({ apiKey: 'none', baseURL: process.env.AGENT_BASE_URL + '/v1' })
const prompts = ${JSON.stringify(
  Array.from({ length: 12 }, (_, index) => `prompt ${index + 1}`),
  undefined,
  2,
)}

let seen = 'nothing'
for (const prompt of prompts) {
  const completion = await client.chat.completions.create({
    model: 'gpt-4o-mini',
    messages: [{ role: 'user', content: prompt + ', seen: ' + seen }],
  })
  seen = completion.choices[0].message.content.slice(0, 20)
  console.log(prompt, seen)
  await new Promise((resolve) => setTimeout(resolve, 5))
}
process.exitCode = 6
`

interface Rerun extends Branched {
  readonly scene: ForkScene
  readonly said: string
}

/** Records the agent, edits its file, and runs it again. */
async function rerun(
  from: string,
  edit: (source: string) => string,
  ...flags: string[]
): Promise<Rerun> {
  const scene = await ForkScene.record('agent.mjs', {
    prepare: async (folder) => {
      await symlink(modules, join(folder, 'node_modules'))
      await writeFile(join(folder, 'agent.mjs'), from)
    },
  })
  const file = join(scene.workspace.folder, 'agent.mjs')
  const changed = edit(from)
  await writeFile(file, changed)
  const made = await scene.branch(['rerun', scene.parent, ...flags])
  return { ...made, scene, said: made.stderr.replaceAll(scene.provider.url, 'URL') }
}

/** Replays what a rerun recorded: the changed code, without the provider. */
async function expectReplayable({ scene, path, stdout, code }: Rerun): Promise<void> {
  const { requests } = scene.provider.counts()
  const replayed = await scene.workspace.replay({ run: path ?? '' })
  expect({ stdout: replayed.stdout, code: replayed.code }, replayed.stderr).toEqual({
    stdout,
    code,
  })
  expect(scene.provider.counts().requests).toBe(requests)
}

interface Usage {
  readonly prompt_tokens: number
  readonly completion_tokens: number
  readonly prompt_tokens_details: { readonly cached_tokens: number }
}

/** The usage in each answer of a run, in order, read from the bytes of its chunks. */
function usages(tape: Tape): Usage[] {
  const answers = new Map<number, string>()
  for (const event of tape.events()) {
    if (event.type !== 'deliver' || event.part !== 'chunk') continue
    const text = Buffer.from(tape.body(event.seq)).toString()
    answers.set(event.op, (answers.get(event.op) ?? '') + text)
  }
  return [...answers.values()].map((text) => (JSON.parse(text) as { usage: Usage }).usage)
}

const tokensOf = (list: readonly Usage[]): number =>
  list.reduce(
    (sum, { prompt_tokens, completion_tokens }) => sum + prompt_tokens + completion_tokens,
    0,
  )

/** As the price list of gpt-4o-mini says: 0.15, 0.075 and 0.60 dollars for a million. */
const dollarsOf = (list: readonly Usage[]): number =>
  list.reduce((sum, usage) => {
    const cached = usage.prompt_tokens_details.cached_tokens
    const fresh = usage.prompt_tokens - cached
    return sum + (fresh * 0.15 + cached * 0.075 + usage.completion_tokens * 0.6) / 1_000_000
  }, 0)

test('after a changed prompt at step 6 of 12, five steps are served and seven are paid', async () => {
  const made = await rerun(
    agent,
    (source) => source.replace('"prompt 6"', '"another prompt"'),
    '--json',
  )
  expect(made.code, made.said).toBe(6)
  expect(made.sent.length).toBe(7)
  expect(made.sent[0]?.body).toContain('another prompt, seen: ')
  for (let prompt = 1; prompt <= 5; prompt += 1) {
    expect(made.sent.some(({ body }) => body.includes(`prompt ${prompt},`))).toBe(false)
  }
  const before = made.scene.recorded.stdout.split('\n').slice(0, 5)
  expect(made.stdout.split('\n').slice(0, 5)).toEqual(before)

  const parent = openTape(made.scene.parent)
  const saved = usages(parent).slice(0, 5)
  const paid = usages(made.tape).slice(5)
  expect(paid.length).toBe(7)
  const said = JSON.parse(made.stderr.trimEnd().split('\n').at(-1) ?? '') as {
    left: { seq: number }
    facts: Record<string, number>
  }
  expect(said.facts).toMatchObject({
    served: 5,
    live: 7,
    savedRequests: 5,
    savedTokens: tokensOf(saved),
    savedUsd: expect.closeTo(dollarsOf(saved), 10) as number,
    // The pauses between the requests are waited for again.
    savedMs: expect.closeTo(
      readRun(parent)
        .recordedSteps.filter(({ kind }) => kind === 'model')
        .slice(0, 5)
        .reduce((sum, { latencyMs = 0 }) => sum + latencyMs, 0),
      6,
    ) as number,
    paidRequests: 7,
    paidTokens: tokensOf(paid),
    paidUsd: expect.closeTo(dollarsOf(paid), 10) as number,
  })
  expect(made.tape.run.parent).toMatchObject({ run: parent.run.id, seq: said.left.seq })
  expect(made.tape.details.branch).toEqual({ kind: 'rerun', edits: [] })
  await expectReplayable(made)
})

test('says where it went live, why, and what that saved', async () => {
  soakOnly()
  const made = await rerun(agent, (source) => source.replace('"prompt 6"', '"another prompt"'))
  const [id, from] = [made.tape.run.id, openTape(made.scene.parent).run.id]
  const said = made.said
    // The line is wrapped where the length of the address demands it.
    .replace(/first difference[^]*?\)/, (wrapped) => wrapped.replaceAll(/\s+/g, ' '))
    .replace(/event \d+/, 'event N')
    .replaceAll(/[\d,]+ tokens · \$0\.\d+/g, 'N tokens · $N')
    .replaceAll(/\$0\.\d+/g, '$N')
    .replace(/ · [\d.]+ m?s \(/, ' · TIME (')
  expect(said).toBe(`rerun ${id} as a branch of ${from} · exit code 6
  first difference at step 6, event N: POST URL/v1/chat/completions differs in body.messages[0].content (agent.mjs:22:22)
  steps    1–5 served (saved $N) · 6–12 live $N
  saved    5 requests · N tokens · $N · TIME (5 steps not live)
  paid     7 requests · N tokens · $N (7 steps live)
  next     retake diff ${from} ${id}
`)
})

test('unchanged code is served to its end, without a request or a recording', async () => {
  soakOnly()
  const made = await rerun(agent, (source) => `${source}// a comment\n`)
  expect(made.said).toMatch(/^identical · all of \S+ was served: nothing differs/)
  expect(made).toMatchObject({
    code: 6,
    path: undefined,
    sent: [],
    stdout: made.scene.recorded.stdout,
  })
})

describe.concurrent('goes live, and still serves the same requests to the model,', () => {
  const cases: Record<
    string,
    { edit: (source: string) => string; sent: number; why: RegExp; code?: number }
  > = {
    'where a step was removed': {
      edit: (source) => source.replace('  "prompt 6",\n', ''),
      sent: 6,
      why: /first difference at step 6, event \d+: POST URL\/v1\/chat\/completions differs in body\.messages\[0\]\.content.* · 1 fewer than recorded/,
    },
    'where a step was added before all others': {
      edit: (source) => source.replace('  "prompt 1"', '  "prompt 0",\n  "prompt 1"'),
      sent: 13,
      why: /first difference at step 1, event \d+: POST URL\/v1\/chat\/completions differs/,
    },
    'where a step was added in the middle': {
      edit: (source) => source.replace('  "prompt 7"', '  "prompt 6½",\n  "prompt 7"'),
      sent: 7,
      why: /first difference at step 7, event \d+: POST URL\/v1\/chat\/completions differs.* · 1 more than recorded/,
    },
    'where the program runs longer': {
      edit: (source) => source.replace('"prompt 12"', '"prompt 12",\n  "prompt 13"'),
      sent: 1,
      why: /first difference after step 12, event \d+: the tape has the end of the run, the program did a read of Math\.random/,
    },
    'where only the output is another': {
      edit: (source) =>
        source.replace(
          'console.log(prompt, seen)',
          `console.log(prompt, seen, prompt === 'prompt 6' ? '!' : '')`,
        ),
      sent: 0,
      why: /first difference after step 1, event \d+: it wrote something else to stdout \(agent\.mjs:\d+:\d+\)/,
    },
    'where a timer is another': {
      edit: (source) => source.replace('resolve, 5)', `resolve, prompt === 'prompt 6' ? 7 : 5)`),
      sent: 0,
      why: /first difference after step 6, event \d+: a timeout of 7 ms differs in ms \(agent\.mjs:\d+:\d+\)/,
    },
    'where the clock is read once more': {
      edit: (source) =>
        source.replace('  seen = ', `  if (prompt === 'prompt 6') Date.now()\n  seen = `),
      sent: 0,
      why: /first difference after step 6, event \d+: the tape has a write to stdout, the program did a read of Date\.now \(agent\.mjs:\d+:\d+\)/,
    },
    'where a die is thrown once more': {
      edit: (source) =>
        source.replace('  seen = ', `  if (prompt === 'prompt 6') Math.random()\n  seen = `),
      sent: 0,
      why: /first difference after step 6, event \d+: the tape has a write to stdout, the program did a read of Math\.random \(agent\.mjs:\d+:\d+\)/,
    },
    'where the program ends early': {
      edit: (source) =>
        source.replace(
          '  console.log(prompt',
          `  if (prompt === 'prompt 6') process.exit(2)\n  console.log(prompt`,
        ),
      sent: 0,
      code: 2,
      why: /first difference after step 6, event \d+: the program ended, but the tape continues with a write to stdout/,
    },
    'where the program fails': {
      edit: (source) =>
        source.replace(
          '  console.log(prompt',
          `  if (prompt === 'prompt 6') throw new Error('no')\n  console.log(prompt`,
        ),
      sent: 0,
      code: 1,
      why: /first difference after step 6, event \d+: the program ended with Error: no, but the tape continues with a write to stdout/,
    },
  }

  const isSampled = (title: string): boolean => /removed/.test(title)
  const tested = sampled(Object.entries(cases), ([title]) => isSampled(title))
  test.each(tested)('%s', async (_, { edit, sent, why, code = 6 }) => {
    const made = await rerun(agent, edit)
    expect(made.code, made.said).toBe(code)
    expect(made.sent.length, made.said).toBe(sent)
    expect(made.said.replaceAll(/\s+/g, ' ')).toMatch(why)
    expect(made.said).toMatch(new RegExp(`paid +${sent} requests?`))
    expect(made.path).toBeDefined()
    expect(made.view.exit?.code).toBe(code)
    await expectReplayable(made)
  })
})

test('a rerun of a rerun serves what both runs paid for', async () => {
  soakOnly()
  const made = await rerun(agent, (source) => source.replace('"prompt 6"', '"another prompt"'))
  const file = join(made.scene.workspace.folder, 'agent.mjs')
  await writeFile(file, readFileSync(file, 'utf8').replace('"prompt 11"', '"yet another"'))
  const again = await made.scene.branch(['rerun', made.path ?? ''])
  expect(again.sent.length, again.stderr).toBe(2)
  expect(again.stderr).toMatch(/difference at step 11,/)
  expect(again.stdout.split('\n').slice(0, 10)).toEqual(made.stdout.split('\n').slice(0, 10))
})
