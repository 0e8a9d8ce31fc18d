import { type Look, lookOf, printJson } from '../terminal/terminal.js'
import { createInterface, type Interface } from 'node:readline'
import type { Timeline } from '@retake/engine/inspect'
import { errorLines, exitCodeOf, explain } from '../command-line/print-error.js'
import { parseStepCommand, runStepCommand } from './step-commands.js'
import { stepResultLines } from './step-result-lines.js'

export interface StepPromptOptions {
  readonly json: boolean
  /** Done before the first command is read. */
  readonly first?: string
  /** Ends everything: a signal came. */
  readonly signal: AbortSignal
}

/**
 * Reads commands, line by line, until there are no more. On a terminal it asks for
 * them, Ctrl-C gives up what is under way, and an empty line repeats the last command;
 * elsewhere empty lines and those that begin with # are skipped. Answers with the exit
 * code: that of the last command that failed.
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
    // Nothing more will be asked: no use in finishing what is under way.
    lines.on('close', () => this.#isTerminal && this.#motion?.abort())
    this.#ask(lines)
    for await (const line of lines) {
      if (!(await this.#line(line))) break
      this.#ask(lines)
    }
    lines.close()
    return this.#exitCode
  }

  #ask(lines: Interface): void {
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
