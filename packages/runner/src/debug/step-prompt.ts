import { Deadline } from '@retake/tape/format'
import {
  cutTo,
  type Look,
  lookOf,
  printable,
  printJson,
  tableLines,
  wrap,
  linesOf,
} from '../terminal/terminal.js'
import { createInterface } from 'node:readline'
import type { Moment, NotFound, Position, Timeline, Watched } from '@retake/engine/inspect'
import { errorLines, exitCodeOf, explainOrThrow } from '../terminal/print-error.js'
import { plural } from '@retake/tape/present'
import { locationText, sourceExcerpt, variableLines } from './stop-lines.js'
import { closestName } from '@retake/engine/errors'
import { cliErrors } from '../errors.js'
import { Script } from 'node:vm'

interface StepResult {
  readonly json: object
  readonly lines: (look: Look) => string[]
}

interface StepContext {
  readonly timeline: Timeline
  /** Text after the name; may be empty. */
  readonly argument: string
  readonly options: { readonly signal: AbortSignal }
}

interface StepCommand {
  readonly aliases?: readonly string[]
  /** `[expr]` is optional, `<expr>` is required. */
  readonly argument?: string
  readonly help: string
  readonly run: (context: StepContext) => StepResult | Promise<StepResult>
}

const AROUND = 5

const COMMANDS: Readonly<Record<string, StepCommand>> = {
  next: {
    aliases: ['n'],
    help: 'go to the next step, in the order of answers',
    run: async ({ timeline, options }) => at(await timeline.next(options), timeline),
  },
  back: {
    aliases: ['b'],
    help: 'go back one step, in the order of answers',
    run: async ({ timeline, options }) => at(await timeline.back(options), timeline),
  },
  lane: {
    argument: '[back] [N]',
    help: 'next or back in this lane, or go to lane N',
    run: async (context) => at(await followLane(context), context.timeline),
  },
  continue: {
    aliases: ['c'],
    argument: '[expr]',
    help: 'go on until expr is true, or to the end',
    run: async ({ timeline, argument, options }) => {
      const condition = argument === '' ? undefined : checkExpression(argument)
      return at(await timeline.continue(condition, options), timeline, argument)
    },
  },
  'reverse-continue': {
    aliases: ['rc'],
    argument: '<expr>',
    help: 'go back until expr was true',
    run: async ({ timeline, argument, options }) =>
      at(await timeline.reverseContinue(checkExpression(argument), options), timeline, argument),
  },
  jump: {
    aliases: ['j'],
    argument: '<N>',
    help: 'go to step N',
    run: async ({ timeline, argument, options }) =>
      at(await timeline.jump(argument, options), timeline),
  },
  print: {
    aliases: ['p'],
    argument: '<expr>',
    help: 'print the value of expr here',
    run: async ({ timeline, argument, options }) => {
      const evaluation = await timeline.print(checkExpression(argument), options)
      return {
        json: { kind: 'value', expression: argument, evaluation },
        lines: ({ paint }) => [
          evaluation.ok
            ? printable(evaluation.value.text)
            : paint('red', printable(evaluation.message)),
        ],
      }
    },
  },
  locals: {
    help: 'print the variables here',
    run: async ({ timeline }) => {
      const variables = await timeline.locals()
      return {
        json: { kind: 'locals', variables },
        lines: (look) =>
          variables.length === 0 ? ['no variables'] : variableLines(variables, look),
      }
    },
  },
  stack: {
    aliases: ['bt'],
    help: 'print the call stack',
    run: async ({ timeline }) => {
      const stack = await timeline.stack()
      return {
        json: { kind: 'stack', stack },
        lines: (look) => {
          const { width } = look
          const rows = stack
            .filter(({ isUser }) => isUser)
            .map(({ name, location, isAsync }) => [
              `  ${isAsync ? 'async ' : ''}${name === '' ? '(top level)' : name}`,
              locationText(location),
            ])
          return rows.length === 0 ? ['no code of yours is on the stack'] : tableLines(rows, width)
        },
      }
    },
  },
  watch: {
    aliases: ['w'],
    argument: '[expr]',
    help: 'show expr at every stop; alone: list them',
    run: async ({ timeline, argument, options }) => {
      if (argument !== '') await timeline.watch(watchable(argument), options)
      return watchesOf(timeline)
    },
  },
  unwatch: {
    argument: '<expr>',
    help: 'stop watching expr',
    run: async ({ timeline, argument }) => {
      if (await timeline.unwatch(watchable(argument))) return watchesOf(timeline)
      throw cliErrors.WRONG_STEP_COMMAND(`"${argument}" is not watched.`, '`watch` shows what is.')
    },
  },
  list: {
    aliases: ['l'],
    help: 'list the steps around this one',
    run: ({ timeline }) => {
      const { index: current } = timeline
      const steps = timeline.moments(current - AROUND, current + AROUND + 1)
      return {
        json: { kind: 'steps', current, steps },
        lines: (look) => listLines(steps, current, look),
      }
    },
  },
  help: {
    aliases: ['h', '?'],
    help: 'print this list',
    run: () => ({ json: { kind: 'help' }, lines: helpLines }),
  },
  quit: {
    aliases: ['q', 'exit'],
    help: 'quit',
    run: () => ({ json: { kind: 'quit' }, lines: () => [] }),
  },
}

const at = (result: Position | NotFound, timeline: Timeline, condition = ''): StepResult =>
  result.kind === 'not found'
    ? { json: { ...result, condition }, lines: ({ width }) => wrap(notFoundText(result), width) }
    : {
        json: { kind: 'position', position: result },
        lines: (look) => positionLines(result, timeline, look),
      }

function watchesOf({ position }: Timeline): StepResult {
  const watches = position.kind === 'stop' ? position.watches : []
  return {
    json: { kind: 'watches', watches },
    lines: (look) =>
      watches.length === 0 ? ['nothing is watched here'] : watchLines(watches, look),
  }
}

function followLane({ timeline, argument, options }: StepContext): Promise<Position> {
  const [, back, lane] = /^(back\b)?\s*(\d+)?$/.exec(argument) ?? []
  if (argument !== '' && back === undefined && lane === undefined)
    throw cliErrors.WRONG_STEP_COMMAND(
      `"${argument}" is not a lane.`,
      'Lanes have numbers, from 0.',
    )
  const all = { ...options, ...(lane !== undefined && { lane: Number(lane) }) }
  return back === undefined ? timeline.nextInLane(all) : timeline.backInLane(all)
}

/** Makes `{ a, b }` an object, not a block. */
const watchable = (expression: string): string => {
  checkExpression(expression)
  return expression.startsWith('{') ? `(${expression})` : expression
}

function parseStepCommand(line: string): { command: StepCommand; argument: string } {
  const [, typed = '', argument = ''] = /^(\S*)\s*([^]*)$/.exec(line.trim()) ?? []
  const [name, command] =
    Object.entries(COMMANDS).find(
      ([each, { aliases = [] }]) => each === typed || aliases.includes(typed),
    ) ?? []
  if (command === undefined) {
    const close = closestName(typed, Object.keys(COMMANDS))
    throw cliErrors.WRONG_STEP_COMMAND(
      `There is no command "${typed}" here.`,
      close === undefined ? 'No command has a similar name.' : `Did you mean ${close}?`,
    )
  }
  if (command.argument === undefined && argument !== '')
    throw cliErrors.WRONG_STEP_COMMAND(`${name} takes no arguments.`, `"${argument}" follows it.`)
  if (command.argument?.startsWith('<') && argument === '')
    throw cliErrors.WRONG_STEP_COMMAND(`${name} needs ${command.argument}.`, 'Nothing follows it.')
  return { command, argument }
}

function helpLines({ width }: Look): string[] {
  const rows = Object.entries(COMMANDS).map(([name, { aliases = [], argument, help }]) => {
    const names = [...aliases.slice(0, 1), name].join(', ')
    return [`  ${names}${argument === undefined ? '' : ` ${argument}`}`, help]
  })
  return [...tableLines(rows, width), '', 'An empty line repeats the last command.']
}

/**
 * An expression as it is evaluated: in parentheses if that parses, so that `{ a, b }` is an object.
 * Throws if it is not JavaScript.
 */
export function checkExpression(expression: string): string {
  // Private names are valid only at a line inside their class, so they do not fail the check here.
  const plain = expression.replaceAll(/\.#(?=[\w$])/g, '._')
  const inParentheses = `(${plain}\n)`
  if (parses(inParentheses) === undefined) return `(${expression}\n)`
  const problem = expression.trim() === '' ? new Error('It is empty') : parses(plain)
  if (problem === undefined) return expression
  throw cliErrors.EXPRESSION_INVALID(expression, problem)
}

function parses(code: string): unknown {
  try {
    // Only compiled, never run.
    void new Script(code)
    return undefined
  } catch (error) {
    return error
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
  if (position.kind === 'end')
    return [head, 'none of your code ran after its answer: the run ended']
  const { location, stack, watches } = position
  const name = stack.find(({ isUser }) => isUser)?.name
  const { lane } = position.moment
  const facts = `${name ? ` in ${name}` : ''}${lane > 0 ? ` · lane ${lane}` : ''}`
  // The end of a long path is more useful than its beginning.
  const path = location === undefined ? '' : locationText(location)
  const room = width - facts.length
  const shownPath = path.length > room && room > 1 ? `…${path.slice(1 - room)}` : path
  return linesOf(
    head,
    !position.isDirect &&
      wrap('none of your code ran for this answer alone; the next line that ran:', width),
    location
      ? `${paint('cyan', shownPath)}${facts}`
      : `none of your code is on the stack at this moment${facts}`,
    location && sourceExcerpt(location, look),
    ...watchLines(watches, look),
  )
}

/** Marks changed values without relying on colors. */
const watchLines = (watches: readonly Watched[], { paint, width }: Look): string[] =>
  watches.map(({ expression, evaluation, isChanged }) => {
    const value = evaluation.ok ? evaluation.value.text : evaluation.message
    const line = `${isChanged ? '*' : ' '} ${expression} = ${value}`.replaceAll('\n', ' ')
    const text = cutTo(printable(line), width)
    return isChanged ? paint('yellow', text) : evaluation.ok ? text : paint('dim', text)
  })

function listLines(steps: readonly Moment[], current: number, { width }: Look): string[] {
  if (steps.length === 0) return ['no steps']
  return tableLines(
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
  const threw = failed === steps ? 'it threw there' : `it threw at ${failed} of them`
  const why = message === undefined ? '' : `; ${threw}: ${printable(message)}`
  return `Not true at ${steps === 1 ? 'the only step' : `any of ${steps} steps`} in that direction${why}. The position is unchanged.`
}

/**
 * Runs commands line by line until input ends. On a terminal it shows a prompt, Ctrl-C cancels the
 * current command, and an empty line repeats the last one; otherwise, empty lines and # comments
 * are skipped. Returns the exit code of the last failed command.
 */
export async function runStepPrompt(
  timeline: Timeline,
  {
    json,
    first,
    signal: stopped,
  }: {
    readonly json: boolean
    /** Command to run first. */
    readonly first?: string
    /** Ends the prompt. */
    readonly signal: AbortSignal
  },
): Promise<number> {
  const isTerminal = process.stdin.isTTY
  let motion: AbortController | undefined
  let lastLine = ''
  let exitCode = 0

  /** Returns false if it was the last command. */
  const runCommand = async (line: string): Promise<boolean> => {
    motion = new AbortController()
    using ended = new Deadline({ signals: [motion.signal, stopped] })
    const { signal } = ended
    try {
      const { command, argument } = parseStepCommand(line)
      const result = await command.run({ timeline, argument, options: { signal } })
      const lines = json ? [] : result.lines(lookOf(process.stdout))
      if (json) printJson({ command: line.trim(), ...result.json })
      else if (lines.length > 0) console.log(lines.join('\n'))
      return command !== COMMANDS['quit']
    } catch (error) {
      if (signal.aborted) {
        process.stderr.write('cancelled; the position is unchanged\n')
        return !stopped.aborted
      }
      const explained = explainOrThrow(error)
      if (!isTerminal) exitCode = exitCodeOf(error)
      if (json) printJson({ command: line.trim(), error: explained })
      else process.stderr.write(errorLines(explained))
      return true
    } finally {
      motion = undefined
    }
  }

  if (first !== undefined && (!(await runCommand(first)) || exitCode !== 0)) return exitCode
  const input = createInterface({
    input: process.stdin,
    ...(isTerminal && { output: process.stderr, terminal: true, historySize: 200 }),
  })
  const promptNext = (): void => {
    if (!isTerminal) return
    const { position } = timeline
    const where =
      'moment' in position && position.moment ? `step ${position.moment.label}` : position.kind
    input.setPrompt(`${where}> `)
    input.prompt()
  }
  stopped.addEventListener('abort', () => input.close(), { once: true })
  input.on('SIGINT', () => {
    if (motion) return motion.abort()
    process.stderr.write('\nq or Ctrl-D ends.\n')
    input.prompt()
  })
  // No more commands will come: cancel the running one.
  input.on('close', () => isTerminal && motion?.abort())
  promptNext()
  for await (const line of input) {
    const isEmpty = line.trim() === ''
    const isSkipped = !isTerminal && (isEmpty || line.trim().startsWith('#'))
    if (!isSkipped && !isEmpty) lastLine = line
    if (!isSkipped && lastLine !== '' && !(await runCommand(lastLine))) break
    promptNext()
  }
  input.close()
  return exitCode
}
