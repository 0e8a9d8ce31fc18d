import type { Step } from '@retake/tape'
import type { Place } from './place.js'
import { searchJson } from './search-json.js'

/** What an MCP request on a pipe asks, and what its answer says. A request of the server comes in and is answered. */
export const messagePlaces = (step: Step): Place[] => {
  const askedBy = step.mcp()?.askedBy
  const common = {
    source: step.kind === 'tool' ? ('tool' as const) : ('mcp' as const),
    name: step.kind === 'tool' ? (step.call()?.name ?? '') : step.title,
    step: step.label,
    ...(step.site !== undefined && { site: step.site }),
  }
  const asked: Place = {
    ...common,
    seq: step.seq,
    direction: askedBy === 'server' ? 'in' : 'out',
    search: (matcher) => searchJson(step.call()?.args, matcher, 'args'),
  }
  const answered: Place = {
    ...common,
    seq: step.answerSeqs.at(-1) ?? step.seq,
    direction: askedBy === 'server' ? 'out' : 'in',
    search: (matcher) => {
      const call = step.call()
      const error = call?.error && { message: call.error.message, data: call.error.props?.['data'] }
      return [
        ...searchJson(call?.result, matcher, 'result'),
        ...searchJson(error, matcher, 'error'),
      ]
    },
  }
  return step.answerSeqs.length === 0 ? [asked] : [asked, answered]
}
