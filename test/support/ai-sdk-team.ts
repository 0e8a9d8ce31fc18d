import type { ModelRequest, ScriptedAnswer } from '@retake/engine/testing'

/** Asks for the tools it is offered on the way down, repeats what it was told on the way up. */
export function answerAsTeam({ messages, body }: ModelRequest): ScriptedAnswer {
  const { role, text } = messages.at(-1) ?? { role: 'user', text: '' }
  if (text === 'as an object') return { text: '{"city":"Bern"}' }
  const offered = JSON.stringify(body['tools'] ?? [])
  const call = (name: string, city: string) => ({ name, args: { city } })
  if (role === 'user' && offered.includes('"weather"'))
    return { toolCalls: [call('weather', 'Bern'), call('look_up', 'Rome')] }
  if (role === 'user' && offered.includes('"look_up"'))
    return { toolCalls: [call('look_up', 'Bern')] }
  return { text: `answer to ${role === 'user' ? text : 'tools'}` }
}

const inWeather = (agent: string) => `agent ${agent} > tool weather`

const research = (asked: string, outer = '') => [
  `${asked} | ${outer}agent researcher`,
  // Named by its id alone, an agent does not tell what its tools do.
  `look up Bern | ${outer}agent researcher`,
  `result | ${outer}agent researcher`,
]
const trip = (asked: string, agent: string) => [
  `${asked} | agent ${agent}`,
  ...research('research Bern', `${inWeather(agent)} > `),
  `after the research | ${inWeather(agent)}`,
  `look up Rome | agent ${agent} > tool look_up`,
  `result | agent ${agent}`,
]

/** The steps of `ai-sdk-team.mjs` with their places, sorted. */
export const teamPlaces = (memory: string, toolOfResearcher = ''): string[] =>
  [
    ...trip('plan a trip', 'planner'),
    ...trip('stream a trip', 'planner'),
    'between pieces | ',
    ...research('stream some research'),
    ...trip('plan another trip', 'planner'),
    ...trip('judge the trip', 'critic'),
    ...research('research at once'),
    'as an object | agent writer',
    memory,
    'outside of all | ',
  ]
    .map((line) =>
      line.startsWith('look up Bern') && toolOfResearcher !== ''
        ? `${line} > ${toolOfResearcher}`
        : line,
    )
    .toSorted()
