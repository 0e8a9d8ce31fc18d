import type { Tape } from '@retake/tape'

/** What a run came to, as far as its order of deliveries may not change it. */
export interface Outcome {
  readonly exitCode?: number
  readonly signal?: string
  /** The error that ended it. */
  readonly error?: { readonly class: string; readonly message: string }
  /** What it wrote to stdout, write by write. */
  readonly stdout: readonly string[]
}

export function outcomeOf(tape: Tape): Outcome {
  const stdout: string[] = []
  let outcome: Omit<Outcome, 'stdout'> = {}
  for (const event of tape.events()) {
    if (event.type === 'output' && event.stream === 'stdout')
      stdout.push(Buffer.from(tape.body(event.seq)).toString())
    else if (event.type === 'end') {
      const { exitCode, signal, error } = event
      outcome = {
        ...(exitCode !== undefined && { exitCode }),
        ...(signal !== undefined && { signal }),
        ...(error && { error: { class: error.class, message: error.message } }),
      }
    }
  }
  return { ...outcome, stdout }
}

/** One way in which an outcome differs from the recorded one. */
export interface OutcomeDifference {
  /** `exit code`, `error`, `stdout`, `asks`, `does not ask`, or `oracle`. */
  readonly what: string
  readonly recorded: string
  readonly now: string
}

export interface ComparedOutcome {
  readonly differences: readonly OutcomeDifference[]
  /** The same was written, in another order. */
  readonly outputOrderDiffers: boolean
}

export function compareOutcomes(recorded: Outcome, now: Outcome): ComparedOutcome {
  const differences: OutcomeDifference[] = []
  const compare = (what: string, before?: string | number, after?: string | number): void => {
    if (before !== after) differences.push({ what, recorded: text(before), now: text(after) })
  }
  compare('exit code', recorded.exitCode ?? recorded.signal, now.exitCode ?? now.signal)
  compare('error', errorText(recorded), errorText(now))
  const before = linesOf(recorded)
  const after = linesOf(now)
  const isSame = before.join('\n') === after.join('\n')
  // Lanes that write parts of lines mix them: then the single writes tell whether it is the same.
  if (!isSame && !isSameBag(before, after) && !isSameBag(recorded.stdout, now.stdout)) {
    differences.push({
      what: 'stdout',
      recorded: without(before, after).join('\n'),
      now: without(after, before).join('\n'),
    })
  }
  return { differences, outputOrderDiffers: !isSame && !differences.some(isOutput) }
}

const errorText = ({ error }: Outcome): string | undefined =>
  error && `${error.class}: ${error.message}`
const isOutput = ({ what }: OutcomeDifference): boolean => what === 'stdout'
const linesOf = ({ stdout }: Outcome): string[] => stdout.join('').split('\n')
const text = (value: string | number | undefined): string => String(value ?? 'none')

const isSameBag = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.toSorted().join('\u0000') === b.toSorted().join('\u0000')

/** The lines of `all` that `others` does not have as often. */
function without(all: readonly string[], others: readonly string[]): string[] {
  const counts = new Map<string, number>()
  for (const line of others) counts.set(line, (counts.get(line) ?? 0) + 1)
  return all.filter((line) => {
    const left = counts.get(line) ?? 0
    counts.set(line, left - 1)
    return left <= 0
  })
}
