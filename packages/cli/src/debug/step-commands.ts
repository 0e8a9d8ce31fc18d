import { closestName } from '@retake/engine/errors'
import { cliErrors } from '../errors.js'
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
import { Script } from 'node:vm'

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
        throw cliErrors.WRONG_STEP_COMMAND(
          `"${argument}" is not watched.`,
          '`watch` shows what is.',
        )
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
    throw cliErrors.WRONG_STEP_COMMAND(
      `"${argument}" is not a lane.`,
      'Lanes have numbers, from 0.',
    )
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

export interface StepCommand {
  readonly name: StepCommandName
  /** What follows the name; empty when nothing does. */
  readonly argument: string
}

interface Definition {
  readonly name: string
  readonly aliases: readonly string[]
  readonly argument?: { readonly name: string; readonly isRequired: boolean }
  readonly help: string
}

const optional = (name: string) => ({ name, isRequired: false })
const required = (name: string) => ({ name, isRequired: true })

const DEFINITIONS = [
  { name: 'next', aliases: ['n'], help: 'to the step that is answered next' },
  { name: 'back', aliases: ['b'], help: 'to the step that was answered before' },
  {
    name: 'lane',
    aliases: [],
    argument: optional('[back] [N]'),
    help: 'the same in this lane, or in lane N',
  },
  {
    name: 'continue',
    aliases: ['c'],
    argument: optional('[expr]'),
    help: 'to the next step where it is true, or to the end',
  },
  {
    name: 'reverse-continue',
    aliases: ['rc'],
    argument: required('<expr>'),
    help: 'to the last step before where it was true',
  },
  { name: 'jump', aliases: ['j'], argument: required('<N>'), help: 'to step N' },
  { name: 'print', aliases: ['p'], argument: required('<expr>'), help: 'the value here' },
  { name: 'locals', aliases: [], help: 'the variables here' },
  { name: 'stack', aliases: ['bt'], help: 'who called, and who waits' },
  {
    name: 'watch',
    aliases: ['w'],
    argument: optional('[expr]'),
    help: 'show it at every stop, or what is watched',
  },
  { name: 'unwatch', aliases: [], argument: required('<expr>'), help: 'no longer' },
  { name: 'list', aliases: ['l'], help: 'the steps around' },
  { name: 'help', aliases: ['h', '?'], help: 'this' },
  { name: 'quit', aliases: ['q', 'exit'], help: 'end' },
] as const satisfies readonly Definition[]

export type StepCommandName = (typeof DEFINITIONS)[number]['name']

/** Reads one line of `retake step`. */
export function parseStepCommand(line: string): StepCommand {
  const [, typed = '', argument = ''] = /^(\S*)\s*([^]*)$/.exec(line.trim()) ?? []
  const all: readonly Definition[] = DEFINITIONS
  const found = all.find(({ name, aliases }) => name === typed || aliases.includes(typed))
  if (found === undefined) {
    const close = closestName(
      typed,
      all.map(({ name }) => name),
    )
    throw cliErrors.WRONG_STEP_COMMAND(
      `There is no command "${typed}" here.`,
      close === undefined ? 'No command has a similar name.' : `Did you mean ${close}?`,
    )
  }
  if (found.argument === undefined && argument !== '')
    throw cliErrors.WRONG_STEP_COMMAND(`${found.name} stands alone.`, `"${argument}" follows it.`)
  if (found.argument?.isRequired && argument === '')
    throw cliErrors.WRONG_STEP_COMMAND(
      `${found.name} needs ${found.argument.name}.`,
      'Nothing follows it.',
    )
  return { name: found.name as StepCommandName, argument }
}

/** Rows for a table: how it is written, and what it does. */
export const stepCommandHelp = (): string[][] =>
  DEFINITIONS.map((definition: Definition) => {
    const { name, aliases, argument, help } = definition
    const names = [...aliases.slice(0, 1), name].join(', ')
    return [`  ${names}${argument ? ` ${argument.name}` : ''}`, help]
  })

/**
 * An expression as it is evaluated: in parentheses where that parses, so that
 * `{ a, b }` is an object. Throws when it is no JavaScript.
 */
export function checkExpression(expression: string): string {
  // Private names are fine at a line inside their class, and nowhere else.
  const plain = expression.replaceAll(/\.#(?=[\w$])/g, '._')
  const inParentheses = `(${plain}\n)`
  if (parses(inParentheses) === undefined) return `(${expression}\n)`
  const problem = expression.trim() === '' ? new Error('It is empty') : parses(plain)
  if (problem === undefined) return expression
  throw cliErrors.EXPRESSION_INVALID(expression, problem)
}

function parses(code: string): unknown {
  try {
    // Compiled only, never run.
    void new Script(code)
    return undefined
  } catch (error) {
    return error
  }
}
