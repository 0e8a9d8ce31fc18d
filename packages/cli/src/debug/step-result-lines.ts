import type {
  Moment,
  NotFound,
  Position,
  StackLine,
  Timeline,
  Watched,
} from '@retake/engine/inspect'
import { plural } from '@retake/tape/present'
import { cutTo, type Look, printable, table, wrap } from '../terminal/terminal.js'
import { sourceExcerpt } from './source-excerpt.js'
import { stepCommandHelp, type StepResult } from './step-commands.js'
import { place, variableLines } from './stop-lines.js'

/** What a command of `retake step` came to, for a person. */
export function stepResultLines(result: StepResult, timeline: Timeline, look: Look): string[] {
  switch (result.kind) {
    case 'position':
      return positionLines(result.position, timeline, look)
    case 'not found':
      return wrap(notFoundText(result), look.width)
    case 'value': {
      const { evaluation } = result
      if (!evaluation.ok) return [look.paint('red', printable(evaluation.message))]
      return [printable(evaluation.value.text)]
    }
    case 'locals':
      return result.variables.length === 0
        ? ['no variables']
        : variableLines(result.variables, look)
    case 'stack':
      return stackLines(result.stack, look)
    case 'watches':
      return result.watches.length === 0
        ? ['nothing is watched here']
        : watchLines(result.watches, look)
    case 'steps':
      return listLines(result.steps, result.current, look)
    case 'help':
      return [
        ...table(stepCommandHelp(), look.width),
        '',
        'An empty line repeats the last command.',
      ]
    case 'quit':
      return []
  }
}

function positionLines(position: Position, timeline: Timeline, look: Look): string[] {
  const { paint, width } = look
  if (position.kind === 'start') return [`at the start, before ${plural(timeline.count, 'step')}`]
  if (position.kind === 'end' && position.moment === undefined) return ['at the end of the run']
  const { moment } = position
  const label = `step ${moment?.label} of ${timeline.count}`
  const title = cutTo(printable(moment?.title ?? ''), width - label.length - 2)
  const head = `${paint('bold', label)}  ${title}`
  if (position.kind === 'end') return [head, 'no code of yours ran after its answer: the run ended']
  const { location, stack, watches } = position
  const name = stack.find(({ isUser }) => isUser)?.name
  const { lane } = position.moment
  const facts = `${name ? ` in ${name}` : ''}${lane > 0 ? ` · lane ${lane}` : ''}`
  return [
    head,
    ...(position.isDirect
      ? []
      : wrap('no code of yours ran for it alone; the next that ran:', width)),
    location
      ? `${paint('cyan', endOf(place(location), width - facts.length))}${facts}`
      : `no code of yours is on the stack at this moment${facts}`,
    ...(location ? sourceExcerpt(location, look) : []),
    ...watchLines(watches, look),
  ]
}

/** Of a long path the end says more than the beginning. */
const endOf = (text: string, length: number): string =>
  text.length > length && length > 1 ? `…${text.slice(1 - length)}` : text

/** Changed ones stand out also without colours. */
const watchLines = (watches: readonly Watched[], { paint, width }: Look): string[] =>
  watches.map(({ expression, evaluation, isChanged }) => {
    const value = evaluation.ok ? evaluation.value.text : evaluation.message
    const line = `${isChanged ? '*' : ' '} ${expression} = ${value}`.replaceAll('\n', ' ')
    const text = cutTo(printable(line), width)
    return isChanged ? paint('yellow', text) : evaluation.ok ? text : paint('dim', text)
  })

function stackLines(stack: readonly StackLine[], { width }: Look): string[] {
  const rows = stack
    .filter(({ isUser }) => isUser)
    .map(({ name, location, isAsync }) => [
      `  ${isAsync ? 'async ' : ''}${name === '' ? '(top level)' : name}`,
      place(location),
    ])
  return rows.length === 0 ? ['no code of yours is on the stack'] : table(rows, width)
}

function listLines(steps: readonly Moment[], current: number, { width }: Look): string[] {
  if (steps.length === 0) return ['no steps']
  return table(
    steps.map(({ index, label, lane, kind, title, state }) => [
      `${index === current ? '>' : ' '} ${label}`,
      `lane ${lane}`,
      kind,
      printable(state === 'done' ? title : `${state}: ${title}`),
    ]),
    width,
  )
}

function notFoundText({ steps, failed, message }: NotFound): string {
  if (steps === 0) return 'There are no steps in that direction.'
  const threw = failed === steps ? 'it threw at all of them' : `it threw at ${failed} of them`
  const why = message === undefined ? '' : `; ${threw}: ${printable(message)}`
  return `Not true at any of ${plural(steps, 'step')}${why}. Still where you were.`
}
