import type { WriteStream } from 'node:tty'
import { describeInput, imitateInput, type InputFacts } from '../boundaries/input.js'
import { define } from '../boundaries/patching/patch.js'
import { hasParentChannel, imitateParentChannel } from '../boundaries/processes/parent-channel.js'

/** Properties of a terminal that programs check before they print. */
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
  /** True if the process was started with an IPC channel to its parent. */
  readonly channel?: boolean
}

export function describeTerminal(): Record<string, unknown> & TerminalFacts {
  return {
    stdin: describeInput(),
    stdout: factsOf(process.stdout),
    stderr: factsOf(process.stderr),
    ...(hasParentChannel() && { channel: true }),
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
  if (facts.channel === true) imitateParentChannel()
  for (const name of ['stdout', 'stderr'] as const) {
    const recorded = facts[name] ?? {}
    const stream = process[name]
    const { isTTY, columns, rows, colorDepth } = recorded
    define(stream, { isTTY, columns, rows, getColorDepth: undefined, hasColors: undefined })
    if (colorDepth === undefined) continue
    const colors = 2 ** colorDepth
    define(stream, {
      getColorDepth: () => colorDepth,
      hasColors: (count: unknown = 16) => (typeof count === 'number' ? count : 16) <= colors,
      getWindowSize: () => [columns, rows],
    })
  }
}
