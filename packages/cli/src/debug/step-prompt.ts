import {
  cutTo,
  type Look,
  lookOf,
  printable,
  printJson,
  table,
  wrap,
} from '../terminal/terminal.js'
import { createInterface, type Interface } from 'node:readline'
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
import { errorLines, exitCodeOf, explain } from '../command-line/print-error.js'
import { plural } from '@retake/tape/present'
import { locationText, sourceExcerpt, variableLines } from './stop-lines.js'
import { closestName } from '@retake/engine/errors'
import { cliErrors } from '../errors.js'
import { Script } from 'node:vm'

/** Result of a command of `retake step`. Plain JSON. */
type StepResult =
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
async function runStepCommand(
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

interface StepCommand {
  readonly name: StepCommandName
  /** Text after the name; may be empty. */
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

type StepCommandName = (typeof DEFINITIONS)[number]['name']

/** Reads one line of `retake step`. */
function parseStepCommand(line: string): StepCommand {
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
    throw cliErrors.WRONG_STEP_COMMAND(
      `${found.name} takes no arguments.`,
      `"${argument}" follows it.`,
    )
  if (found.argument?.isRequired && argument === '')
    throw cliErrors.WRONG_STEP_COMMAND(
      `${found.name} needs ${found.argument.name}.`,
      'Nothing follows it.',
    )
  return { name: found.name as StepCommandName, argument }
}

/** Rows for a table: how it is written, and what it does. */
const stepCommandHelp = (): string[][] =>
  DEFINITIONS.map((definition: Definition) => {
    const { name, aliases, argument, help } = definition
    const names = [...aliases.slice(0, 1), name].join(', ')
    return [`  ${names}${argument ? ` ${argument.name}` : ''}`, help]
  })

/**
 * An expression as it is evaluated: in parentheses where that parses, so that
 * `{ a, b }` is an object. Throws if it is not JavaScript.
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

/** Result of a command of `retake step` as lines of text. */
function stepResultLines(result: StepResult, timeline: Timeline, look: Look): string[] {
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
      ? `${paint('cyan', endOf(locationText(location), width - facts.length))}${facts}`
      : `no code of yours is on the stack at this moment${facts}`,
    ...(location ? sourceExcerpt(location, look) : []),
    ...watchLines(watches, look),
  ]
}

/** The end of a long path is more useful than its beginning. */
const endOf = (text: string, length: number): string =>
  text.length > length && length > 1 ? `…${text.slice(1 - length)}` : text

/** Changed values are visible without colors, too. */
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
      locationText(location),
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

export interface StepPromptOptions {
  readonly json: boolean
  /** Done before the first command is read. */
  readonly first?: string
  /** Ends everything: a signal came. */
  readonly signal: AbortSignal
}

/**
 * Runs commands line by line until input ends. On a terminal it shows a prompt, Ctrl-C
 * cancels the current command, and an empty line repeats the last one; otherwise, empty
 * lines and lines starting with # are skipped. Returns the exit code of the last command
 * that failed.
 */
export class StepPrompt {
  readonly #timeline: Timeline
  readonly #options: StepPromptOptions
  readonly #isTerminal = process.stdin.isTTY
  #motion: AbortController | undefined
  #lastLine = ''
  #exitCode = 0

  constructor(timeline: Timeline, options: StepPromptOptions) {
    this.#timeline = timeline
    this.#options = options
  }

  async run(): Promise<number> {
    const { first, signal } = this.#options
    if (first !== undefined && !(await this.#command(first))) return this.#exitCode
    if (first !== undefined && this.#exitCode !== 0) return this.#exitCode
    const lines = createInterface({
      input: process.stdin,
      ...(this.#isTerminal && { output: process.stderr, terminal: true, historySize: 200 }),
    })
    signal.addEventListener('abort', () => lines.close(), { once: true })
    lines.on('SIGINT', () => this.#interrupt(lines))
    // No more commands will come: cancel the running one.
    lines.on('close', () => this.#isTerminal && this.#motion?.abort())
    this.#promptNext(lines)
    for await (const line of lines) {
      if (!(await this.#line(line))) break
      this.#promptNext(lines)
    }
    lines.close()
    return this.#exitCode
  }

  #promptNext(lines: Interface): void {
    if (!this.#isTerminal) return
    const { position } = this.#timeline
    const where =
      'moment' in position && position.moment ? `step ${position.moment.label}` : position.kind
    lines.setPrompt(`${where}> `)
    lines.prompt()
  }

  #interrupt(lines: Interface): void {
    if (this.#motion) this.#motion.abort()
    else {
      process.stderr.write('\nq or Ctrl-D ends.\n')
      lines.prompt()
    }
  }

  async #line(line: string): Promise<boolean> {
    const isEmpty = line.trim() === ''
    if (!this.#isTerminal && (isEmpty || line.trim().startsWith('#'))) return true
    const command = isEmpty ? this.#lastLine : line
    this.#lastLine = command
    return command === '' || this.#command(command)
  }

  /** Answers whether to go on. */
  async #command(line: string): Promise<boolean> {
    const motion = new AbortController()
    this.#motion = motion
    const signal = AbortSignal.any([motion.signal, this.#options.signal])
    try {
      const command = parseStepCommand(line)
      const result = await runStepCommand(this.#timeline, command, signal)
      if (this.#options.json) printJson({ command: line.trim(), ...result })
      else this.#say(stepResultLines(result, this.#timeline, this.#look()))
      return result.kind !== 'quit'
    } catch (error) {
      if (signal.aborted) return this.#givenUp()
      return this.#fail(line, error)
    } finally {
      this.#motion = undefined
    }
  }

  #givenUp(): boolean {
    process.stderr.write('given up; still where you were\n')
    return !this.#options.signal.aborted
  }

  #fail(line: string, error: unknown): boolean {
    const explained = explain(error)
    if (explained === undefined) throw error
    if (!this.#isTerminal) this.#exitCode = exitCodeOf(error)
    if (this.#options.json) printJson({ command: line.trim(), error: explained })
    else process.stderr.write(errorLines(explained))
    return true
  }

  #look(): Look {
    return lookOf(process.stdout)
  }

  #say(lines: readonly string[]): void {
    if (lines.length > 0) console.log(lines.join('\n'))
  }
}
