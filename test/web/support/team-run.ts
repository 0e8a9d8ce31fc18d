import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { TapeWriter } from '@retake/tape/node'

const HOUR_MS = 3_600_000
const text = (value: unknown): Buffer => Buffer.from(JSON.stringify(value))

/**
 * Writes the tape of a team with times that do not depend on the machine: a planner, two
 * researchers side by side of which one fails, two hours of waiting, a model without a
 * price, a tool whose answer never came. 12 steps in 3 lanes, one inferred.
 */
export function writeTeamRun(folder: string, id = 'team'): void {
  const runs = join(folder, '.retake', 'runs')
  mkdirSync(runs, { recursive: true })
  let now = 0
  const writer = TapeWriter.create(
    join(runs, `${id}.tape`),
    {
      type: 'run',
      id,
      name: 'research team',
      startedAt: Date.UTC(2026, 10, 15, 9, 30),
      scope: 'process',
      node: 'v22.20.0',
    },
    { entry: 'team.ts', args: [] },
    { now: () => now },
  )
  const at = (ms: number): void => {
    now = ms
  }
  const ask = (agent: string, model: string, messages: readonly unknown[]): number =>
    writer.append(
      {
        type: 'request',
        seam: 'fetch',
        method: 'POST',
        url: 'https://api.openai.com/v1/chat/completions',
        headers: [['content-type', 'application/json']],
        site: '/home/user/team/team.ts:12:30',
        within: [{ kind: 'agent', name: agent }],
      },
      text({ model, messages }),
    )
  const answer = (op: number, message: object, usage?: readonly [number, number], status = 200) => {
    writer.append(
      {
        type: 'response',
        op,
        status,
        statusText: status === 200 ? 'OK' : 'Too Many Requests',
        headers: [['content-type', 'application/json']],
      },
      Buffer.alloc(0),
    )
    const body =
      status === 200
        ? {
            id: 'chatcmpl-1',
            object: 'chat.completion',
            choices: [
              { index: 0, finish_reason: 'stop', message: { role: 'assistant', ...message } },
            ],
            ...(usage && {
              usage: {
                prompt_tokens: usage[0],
                completion_tokens: usage[1],
                total_tokens: usage[0] + usage[1],
              },
            }),
          }
        : {
            error: { message: 'Rate limit reached', type: 'requests', code: 'rate_limit_exceeded' },
          }
    writer.append({ type: 'deliver', part: 'chunk', op }, text(body))
    writer.append({ type: 'deliver', part: 'end', op }, Buffer.alloc(0))
  }
  const call = (agent: string, name: string, args: object): number =>
    writer.append(
      { type: 'call', kind: 'tool', name, as: 'json', within: [{ kind: 'agent', name: agent }] },
      text(args),
    )
  const result = (op: number, value: string): number =>
    writer.append({ type: 'result', op, as: 'text' }, Buffer.from(value))
  const fail = (op: number, message: string): number =>
    writer.append(
      { type: 'result', op, error: { class: 'Error', name: 'Error', message } },
      Buffer.alloc(0),
    )
  const toolCall = (name: string, id_: string) => ({
    content: null,
    tool_calls: [{ id: id_, type: 'function', function: { name, arguments: '{"city":"Bern"}' } }],
  })
  const user = (content: string) => ({ role: 'user', content })

  at(120)
  const plan = ask('planner', 'gpt-4o', [user('Plan a trip to Bern.')])
  at(1400)
  answer(plan, toolCall('look_up', 'call_1'), [1200, 80])
  at(1500)
  const first = ask('weather', 'gpt-4o-mini', [user('What is the weather in Bern?')])
  const second = ask('trains', 'gpt-4o-mini', [user('Which trains go to Bern?')])
  at(2600)
  answer(first, toolCall('forecast', 'call_2'), [300, 20])
  const forecast = call('weather', 'forecast', { city: 'Bern' })
  at(2900)
  answer(second, toolCall('timetable', 'call_3'), [310, 25])
  const timetable = call('trains', 'timetable', { to: 'Bern' })
  at(3100)
  fail(timetable, 'the timetable service is down')
  const retry = call('trains', 'timetable', { to: 'Bern', day: 'tomorrow' })
  at(3600)
  result(forecast, 'rain')
  at(3700)
  const weather = ask('weather', 'gpt-4o-mini', [user('It says: rain.')])
  at(4200)
  result(retry, '09:02, 10:02')
  at(4900)
  answer(weather, { content: 'Take an umbrella.' }, [340, 9])
  at(5000)
  writer.append(
    { type: 'note', kind: 'boundary', name: 'node:dgram', text: 'Datagrams are not captured.' },
    Buffer.alloc(0),
  )
  const asked = ask('planner', 'gpt-4o', [user('Ask the traveller.')])
  at(5600)
  answer(asked, {}, undefined, 429)

  at(2 * HOUR_MS)
  const told = ask('planner', 'house-model-7', [
    user('Plan a trip to Bern.'),
    { role: 'assistant', ...toolCall('look_up', 'call_1') },
    { role: 'tool', tool_call_id: 'call_1', content: 'Bern, capital of Switzerland' },
  ])
  at(2 * HOUR_MS + 900)
  answer(told, { content: 'Booked for tomorrow.' }, [2000, 40])
  at(2 * HOUR_MS + 1000)
  const booking = call('planner', 'book', { train: '09:02' })
  at(2 * HOUR_MS + 1200)
  result(booking, 'ok')
  const mail = call('planner', 'send_mail', { to: 'traveller' })
  at(2 * HOUR_MS + 1900)
  writer.append({ type: 'end', exitCode: 3 }, Buffer.alloc(0))
  void mail
  writer.seal()
}
