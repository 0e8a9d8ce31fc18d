import type {
  Evaluation,
  Moment,
  NotFound,
  Position,
  StackLine,
  Timeline,
  Variable,
  Watched,
} from '@retake/engine/inspect'
import { checkExpression } from './check-expression.js'
import { wrongStepCommand } from './errors/command-line.js'
import type { StepCommand } from './step-commands.js'

/** What a command of `retake step` came to. Plain JSON. */
export type StepResult =
  | { readonly kind: 'position'; readonly position: Position }
  | NotFound
  | { readonly kind: 'value'; readonly expression: string; readonly evaluation: Evaluation }
  | { readonly kind: 'locals'; readonly variables: readonly Variable[] }
  | { readonly kind: 'stack'; readonly stack: readonly StackLine[] }
  | { readonly kind: 'watches'; readonly watches: readonly Watched[] }
  | { readonly kind: 'steps'; readonly current: number; readonly steps: readonly Moment[] }
  | { readonly kind: 'help' }
  | { readonly kind: 'quit' }

/** Steps shown before and after the current one. */
const AROUND = 5

/** Does what one command says. */
export async function runStepCommand(
  timeline: Timeline,
  { name, argument }: StepCommand,
  signal?: AbortSignal,
): Promise<StepResult> {
  const options = signal ? { signal } : {}
  switch (name) {
    case 'next':
      return at(await timeline.next(options))
    case 'back':
      return at(await timeline.back(options))
    case 'lane':
      return at(await followLane(timeline, argument, options))
    case 'jump':
      return at(await timeline.jump(argument, options))
    case 'continue': {
      const condition = argument === '' ? undefined : checkExpression(argument)
      return found(await timeline.continue(condition, options), argument)
    }
    case 'reverse-continue':
      return found(await timeline.reverseContinue(checkExpression(argument), options), argument)
    case 'print': {
      const evaluation = await timeline.print(checkExpression(argument), options)
      return { kind: 'value', expression: argument, evaluation }
    }
    case 'locals':
      return { kind: 'locals', variables: await timeline.locals() }
    case 'stack':
      return { kind: 'stack', stack: await timeline.stack() }
    case 'watch':
      if (argument !== '') await timeline.watch(watchable(argument), options)
      return watchesOf(timeline)
    case 'unwatch':
      if (!(await timeline.unwatch(watchable(argument))))
        throw wrongStepCommand(`"${argument}" is not watched.`, '`watch` shows what is.')
      return watchesOf(timeline)
    case 'list':
      return stepsAround(timeline)
    case 'help':
    case 'quit':
      return { kind: name }
  }
}

const at = (position: Position): StepResult => ({ kind: 'position', position })

const found = (result: Position | NotFound, condition: string): StepResult =>
  result.kind === 'not found' ? { ...result, condition } : at(result)

const watchesOf = ({ position }: Timeline): StepResult => ({
  kind: 'watches',
  watches: position.kind === 'stop' ? position.watches : [],
})

function followLane(
  timeline: Timeline,
  argument: string,
  options: { readonly signal?: AbortSignal },
): Promise<Position> {
  const [, back, lane] = /^(back\b)?\s*(\d+)?$/.exec(argument) ?? []
  if (argument !== '' && back === undefined && lane === undefined)
    throw wrongStepCommand(`"${argument}" is not a lane.`, 'Lanes have numbers, from 0.')
  const all = { ...options, ...(lane !== undefined && { lane: Number(lane) }) }
  return back === undefined ? timeline.nextInLane(all) : timeline.backInLane(all)
}

const stepsAround = (timeline: Timeline): StepResult => ({
  kind: 'steps',
  current: timeline.index,
  steps: timeline.moments(timeline.index - AROUND, timeline.index + AROUND + 1),
})

/** `{ a, b }` is an object here, not a block. */
const watchable = (expression: string): string => {
  checkExpression(expression)
  return expression.startsWith('{') ? `(${expression})` : expression
}
