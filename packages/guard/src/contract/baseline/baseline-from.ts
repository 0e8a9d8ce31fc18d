import { decodeBody, guardedCalls, type TapeLike } from '@retake/tape/format'
import { looksSecret } from '@retake/engine/hook'
import { typeOf } from '../type-of.js'
import {
  type ArgumentBaseline,
  type Baseline,
  eachArgument,
  hostIn,
  type Spread,
  textShape,
  type ToolBaseline,
} from './baseline.js'

export interface BaselineOptions {
  /** Arguments that are not compared, by path or last name: `query`, `items[].sku`. */
  readonly ignore?: readonly string[]
}

/** Statistics of the arguments of successful tool calls, guarded or not, in recorded runs. */
export function baselineFrom(tapes: Iterable<TapeLike>, options: BaselineOptions = {}): Baseline {
  const { ignore = [] } = options
  const tools = new Map<string, ToolNotes>()
  for (const tape of tapes)
    for (const { tool, args } of callsOf(tape)) {
      const notes = tools.get(tool) ?? new ToolNotes()
      tools.set(tool, notes)
      notes.add(eachArgument(args, ignore))
    }
  const entries = [...tools].map(([name, notes]) => [name, notes.baseline()] as const)
  return {
    version: 1,
    tools: Object.fromEntries(entries.toSorted(([a], [b]) => (a < b ? -1 : 1))),
    ...(ignore.length > 0 && { ignore }),
  }
}

function* callsOf(tape: TapeLike): Iterable<{ readonly tool: string; readonly args: unknown }> {
  const succeeded = new Set<number>()
  for (const event of tape.events())
    if (event.type === 'result' && event.error === undefined) {
      const { status = 'done', served } = event.guard ?? {}
      if (status === 'done' && served === undefined) succeeded.add(event.op)
    }
  for (const event of tape.events())
    if (event.type === 'call' && event.kind === 'tool' && succeeded.has(event.seq))
      yield { tool: event.name, args: decodeBody(event.as ?? 'json', tape.body(event.seq)) }
  for (const call of guardedCalls(tape))
    if (call.isNested && call.state === 'done' && call.facts?.served === undefined)
      yield { tool: call.tool, args: call.args() }
}

class ToolNotes {
  #calls = 0
  readonly #arguments = new Map<string, ArgumentNotes>()

  add(found: ReturnType<typeof eachArgument>): void {
    this.#calls += 1
    for (const { path, value } of found) {
      const notes = this.#arguments.get(path) ?? new ArgumentNotes()
      this.#arguments.set(path, notes)
      notes.add(value, this.#calls)
    }
  }

  baseline(): ToolBaseline {
    const entries = [...this.#arguments].map(([path, notes]) => [path, notes.baseline()] as const)
    return { calls: this.#calls, arguments: Object.fromEntries(entries) }
  }
}

/** With few values that were each seen often, another value counts as unusual. */
const VALUES_MOST = 20
const SEEN_EACH = 3
const VALUE_LENGTH = 60
const HOSTS_MOST = 200

class ArgumentNotes {
  #calls = 0
  #lastCall = 0
  #choices = 0
  readonly #types = new Map<string, number>()
  readonly #numbers: number[] = []
  readonly #lengths: number[] = []
  readonly #shapes = new Set<string>()
  readonly #hosts = new Set<string>()
  readonly #values = new Set<string | boolean>()

  add(value: unknown, call: number): void {
    if (call !== this.#lastCall) this.#calls += 1
    this.#lastCall = call
    const type = typeOf(value)
    this.#types.set(type, (this.#types.get(type) ?? 0) + 1)
    if (typeof value === 'number' || typeof value === 'bigint') this.#numbers.push(Number(value))
    if (typeof value === 'boolean') this.#choose(value)
    if (typeof value !== 'string') return
    this.#lengths.push(value.length)
    this.#shapes.add(textShape(value))
    const host = hostIn(value)
    if (host !== undefined && this.#hosts.size <= HOSTS_MOST) this.#hosts.add(host)
    this.#choose(value)
  }

  #choose(value: string | boolean): void {
    this.#choices += 1
    if (this.#values.size <= VALUES_MOST) this.#values.add(value)
  }

  baseline(): ArgumentBaseline {
    const values = [...this.#values]
    const isClosed =
      values.length > 0 &&
      values.length <= VALUES_MOST &&
      values.length * SEEN_EACH <= this.#choices &&
      values.every((each) => typeof each === 'boolean' || isKeepable(each))
    const hosts = [...this.#hosts]
    return {
      calls: this.#calls,
      types: Object.fromEntries(this.#types),
      ...(this.#numbers.length > 0 && { numbers: spreadOf(this.#numbers) }),
      ...(this.#lengths.length > 0 && { lengths: spreadOf(this.#lengths) }),
      ...(this.#shapes.size > 0 && { shapes: [...this.#shapes].toSorted() }),
      ...(isClosed && { values }),
      ...(hosts.length > 0 && hosts.length <= HOSTS_MOST && { hosts: hosts.toSorted() }),
    }
  }
}

const isKeepable = (text: string): boolean =>
  text.length <= VALUE_LENGTH && !looksSecret(text) && !text.includes('retake-hidden')

function spreadOf(numbers: readonly number[]): Spread {
  const sorted = numbers.filter((each) => !Number.isNaN(each)).toSorted((a, b) => a - b)
  const at = (index: number): number => sorted[index] ?? 0
  const middle = (sorted.length - 1) / 2
  const median = (at(Math.floor(middle)) + at(Math.ceil(middle))) / 2
  return { min: at(0), median, max: at(sorted.length - 1) }
}
