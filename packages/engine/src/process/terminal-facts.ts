import type { WriteStream } from 'node:tty'
import { imitateInput } from '../boundaries/input.js'
import { describeInput } from '../boundaries/input.js'
import type { InputFacts } from '../boundaries/input.js'

/** What programs ask about their terminal before they decide how to print. */
interface StreamFacts {
  readonly isTTY?: boolean
  readonly columns?: number
  readonly rows?: number
  readonly colorDepth?: number
}

interface TerminalFacts {
  readonly stdin?: InputFacts
  readonly stdout?: StreamFacts
  readonly stderr?: StreamFacts
}

export function describeTerminal(): Record<string, InputFacts | StreamFacts> {
  return {
    stdin: describeInput(),
    stdout: factsOf(process.stdout),
    stderr: factsOf(process.stderr),
  }
}

function factsOf(stream: Partial<WriteStream>): StreamFacts {
  return {
    ...(stream.isTTY === true && { isTTY: true }),
    ...(stream.columns !== undefined && { columns: stream.columns }),
    ...(stream.rows !== undefined && { rows: stream.rows }),
    ...(stream.getColorDepth && { colorDepth: stream.getColorDepth() }),
  }
}

/** Makes the streams of this process look like those of the recorded one. */
export function imitateTerminal(facts: TerminalFacts): void {
  imitateInput(facts.stdin ?? {})
  for (const name of ['stdout', 'stderr'] as const) {
    const recorded = facts[name] ?? {}
    const stream = process[name]
    define(stream, 'isTTY', recorded.isTTY)
    define(stream, 'columns', recorded.columns)
    define(stream, 'rows', recorded.rows)
    if (recorded.colorDepth === undefined) {
      define(stream, 'getColorDepth', undefined)
      define(stream, 'hasColors', undefined)
      continue
    }
    const colors = 2 ** recorded.colorDepth
    define(stream, 'getColorDepth', () => recorded.colorDepth)
    define(
      stream,
      'hasColors',
      (count: unknown = 16) => (typeof count === 'number' ? count : 16) <= colors,
    )
    define(stream, 'getWindowSize', () => [recorded.columns, recorded.rows])
  }
}

function define(target: object, key: string, value: unknown): void {
  Object.defineProperty(target, key, { value, writable: true, configurable: true })
}
