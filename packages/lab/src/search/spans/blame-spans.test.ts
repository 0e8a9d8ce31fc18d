import { expect, it } from 'vitest'
import type { InputSpan, SpanFindings } from '@retake/tape'
import type { Fork } from '../fork-source.js'
import { drawLevels } from '../../scenarios/planted-model.js'
import { pickOne, pickSteps, seededRandom, type Random } from '../seeded-random.js'
import { blameSpans, type BlameSpansOptions } from './blame-spans.js'

const POLICY = 'Orders may be returned. All sales are final after 14 days. Be kind.'

const request = {
  model: 'm',
  messages: [
    { role: 'system', content: 'You help customers. Follow the policy to the letter. Be brief.' },
    { role: 'user', content: 'My parcel came on Monday. Can I have my money back?' },
    {
      role: 'assistant',
      content: 'I look it up.',
      tool_calls: [
        { id: 'a', type: 'function', function: { name: 'policy', arguments: '{}' } },
        { id: 'b', type: 'function', function: { name: 'order', arguments: '{"id":7}' } },
      ],
    },
    { role: 'tool', tool_call_id: 'a', content: JSON.stringify({ policy: POLICY, version: 3 }) },
    { role: 'tool', tool_call_id: 'b', content: '{"id": 7, "paid": true, "total": 99}' },
    { role: 'user', content: 'Please hurry.' },
  ],
}

/** Says how often a request fails, by what it says. */
type FailRate = (words: string) => number

function ask(failRate: FailRate) {
  let sent = 0
  const random = seededRandom(8)
  const send = async (masked: unknown): Promise<Fork> => {
    sent++
    expect((masked as typeof request).messages.map(({ role }) => role)).toEqual(
      request.messages.map(({ role }) => role),
    )
    const isFail = random() < failRate(JSON.stringify(masked))
    return { outcome: isFail ? 'fail' : 'pass', values: [], costUsd: 0.01 }
  }
  return { send, sent: () => sent }
}

async function find(failRate: FailRate, options: Partial<BlameSpansOptions> = {}) {
  const { send, sent } = ask(failRate)
  const found = await blameSpans(request, send, { step: '4', ...options })
  expect(found.forks.asked).toBe(sent())
  return found
}

const blamed = ({ spans }: SpanFindings) =>
  spans.map(({ path, role, excerpt }) => [path, role, excerpt])

/** What a span says must stand in the request where it points. */
function textAt({ path, start, end }: InputSpan): string {
  const [, place] = /^messages\.(\d+)\.content$/.exec(path) ?? []
  return request.messages[Number(place)]!.content.slice(start, end)
}

it('names the message, and the words in it, that made the answer fail', async () => {
  const found = await find((words) => (words.includes('My parcel came on Monday') ? 1 : 0))
  expect(found.verdict).toBe('attributed')
  expect(found.messages.map(({ role }) => role)).toEqual([
    'clear',
    'root',
    'clear',
    'clear',
    'clear',
    'clear',
  ])
  expect(blamed(found)).toEqual([['messages.1.content', 'root', 'My parcel came on Monday.']])
  expect(textAt(found.spans[0]!)).toBe('My parcel came on Monday.')
  expect(found.spans[0]!.speaker).toBe('user')
  expect(found.spans[0]!.rate!.low).toBeGreaterThan(0.1)
})

it('names a field of a tool result, also if it fails only most of the time', async () => {
  const found = await find((words) => (words.includes('All sales are final') ? 0.8 : 0.05))
  expect(blamed(found)).toEqual([
    ['messages.3.content', 'root', expect.stringContaining('All sales are final')],
  ])
  expect(found.spans[0]!.speaker).toBe('tool')
})

it('names words of two messages that fail only together', async () => {
  const found = await find((words) =>
    words.includes('to the letter') && words.includes('All sales are final') ? 1 : 0,
  )
  expect(blamed(found)).toEqual([
    ['messages.0.content', 'joint', 'Follow the policy to the letter.'],
    ['messages.3.content', 'joint', expect.stringContaining('All sales are final')],
  ])
  expect(found.spans.map(({ cause }) => cause)).toEqual([0, 0])
})

it('finds the words in each of two messages that would both have failed', async () => {
  const found = await find((words) =>
    words.includes('to the letter') || words.includes('All sales are final') ? 1 : 0,
  )
  expect(blamed(found)).toEqual([
    ['messages.0.content', 'root', 'Follow the policy to the letter.'],
    ['messages.3.content', 'back-up', expect.stringContaining('All sales are final')],
  ])
  expect(found.spans.map(({ cause }) => cause)).toEqual([0, 1])
})

it('blames nothing where the input does not matter', async () => {
  for (const rate of [0.4, 1, 0]) {
    const found = await find(() => rate)
    expect(found.verdict).not.toBe('attributed')
    expect(found.spans).toEqual([])
    expect(found.why).toMatch(
      /^It does not depend|^The step does not fail|^The rates are too close/,
    )
  }
})

it('shows the whole message where the forks do not suffice to narrow it, and spends no more', async () => {
  const failRate: FailRate = (words) => (words.includes('All sales are final') ? 1 : 0)
  const whole = await find(failRate)
  const needed = whole.forks.asked
  for (const maxForks of [0, 5, needed - 10, needed - 1]) {
    const found = await find(failRate, { maxForks })
    expect(found.forks.asked).toBeLessThanOrEqual(maxForks)
    for (const span of found.spans) expect(span.path).toBe('messages.3.content')
    const saysSo = found.notes.some((note) => note.includes('could not be determined'))
    expect(saysSo).toBe(found.spans.length > 0)
  }
  const inDollars = await find(failRate, { maxUsd: 0.3 })
  expect(inDollars.forks.costUsd).toBeLessThanOrEqual(0.3 + 1e-9)
})

it('has nothing to search in a request without text', async () => {
  const { send } = ask(() => 1)
  const found = await blameSpans({ model: 'm', messages: [] }, send, { step: '1' })
  expect(found).toMatchObject({ verdict: 'no attributable step', messages: [], spans: [] })
})

it('names exactly the planted text in random requests, also under noise', async () => {
  for (const [noise, runs] of [
    ['deterministic', 60],
    ['noisy', 40],
  ] as const) {
    let exact = 0
    for (let seed = 0; seed < runs; seed++) {
      const random = seededRandom(500 + seed)
      const { withCause, without } = drawLevels(noise, random)
      const { messages, facts } = drawMessages(random)
      const planted = pickSteps(random, facts.length, 1 + Math.floor(random() * 2)).map(
        (place) => facts[place]!,
      )
      const send = async (masked: unknown): Promise<Fork> => {
        const words = JSON.stringify(masked)
        const rate = planted.every((fact) => words.includes(fact)) ? withCause : without
        return { outcome: random() < rate ? 'fail' : 'pass', values: [] }
      }
      const { spans } = await blameSpans({ messages }, send, { step: '1', seed })
      const said = spans.map(({ excerpt }) => excerpt.replaceAll('"', ''))
      if (said.toSorted().join() === planted.toSorted().join()) exact++
    }
    expect(exact / runs).toBeGreaterThanOrEqual(0.97)
  }
})

/** Three to twelve messages, each of one to eight facts, as sentences, lines or JSON. */
function drawMessages(random: Random) {
  const facts: string[] = []
  const messages = Array.from({ length: 3 + Math.floor(random() * 10) }, (_, place) => {
    const said = Array.from(
      { length: 1 + Math.floor(random() * 8) },
      (_fact, at) => `Fact ${place}x${at} holds.`,
    )
    facts.push(...said)
    const fields = Object.fromEntries(said.map((fact, at) => [`field${at}`, fact]))
    const content = pickOne(random, [said.join(' '), said.join('\n'), JSON.stringify(fields)])
    return { role: place % 2 === 0 ? 'user' : 'assistant', content }
  })
  return { messages, facts }
}
