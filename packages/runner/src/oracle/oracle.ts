import path from 'node:path'
import { planOverlay } from '@retake/engine/plans'
import { clipText, defined, type Tape, attempt } from '@retake/tape'
import type { RunOutcome, Verdict } from '../config/oracle-source.js'
import { viewRun } from '../runs/view-run.js'

export interface Judgement {
  readonly verdict: Verdict
  readonly reason: string
  readonly votes?: readonly Verdict[]
}

/** How often a judge gave the same verdict when its options were swapped. */
export class Agreement {
  #votes = 0
  #agreed = 0

  /** Ignores judgements without votes, or in which the judge was silent. */
  add({ votes }: Judgement): void {
    if (votes === undefined || votes.includes('undefined')) return
    this.#votes++
    if (votes.every((vote) => vote === votes[0])) this.#agreed++
  }

  /** Undefined if nothing was judged. */
  get rate(): number | undefined {
    return this.#votes === 0 ? undefined : this.#agreed / this.#votes
  }

  /** `the judge agreed with itself 17 of 18 times`; undefined if it was not used. */
  get text(): string | undefined {
    return this.#votes === 0
      ? undefined
      : `the judge agreed with itself ${this.#agreed} of ${this.#votes} times`
  }
}

/** Decides whether an outcome passes. */
export interface Oracle {
  (outcome: RunOutcome, signal: AbortSignal): Promise<Judgement>
  /** As given. */
  readonly text: string
  /** Differs between oracles that may disagree, as far as can be seen: text, files, model. */
  readonly key: string
  /** How consistent the judge was so far; missing without a judge. */
  readonly agreement?: Agreement
}

export const judged = (passes: boolean, reason: string): Judgement => ({
  verdict: passes ? 'pass' : 'fail',
  reason,
})

export const undecided = (reason: string): Judgement => ({ verdict: 'undefined', reason })

export type Judge = (outcome: RunOutcome, signal: AbortSignal) => Judgement | Promise<Judgement>

const VERDICTS: readonly unknown[] = ['pass', 'fail', 'undefined'] satisfies Verdict[]
const SHOWN_MAX = 60
const isVerdict = (value: unknown): value is Verdict => VERDICTS.includes(value)

/** Converts the answer of a user's function into a judgement; anything unexpected is undecided. */
export function functionAnswer(answer: unknown): Judgement {
  if (typeof answer === 'boolean') return judged(answer, `the oracle said ${answer}`)
  if (isVerdict(answer)) return { verdict: answer, reason: `the oracle said ${answer}` }
  if (typeof answer === 'object' && answer !== null && 'verdict' in answer) {
    const { verdict } = answer
    const reason = 'reason' in answer ? answer.reason : undefined
    if (isVerdict(verdict))
      return {
        verdict,
        reason: typeof reason === 'string' ? reason : `the oracle said ${verdict}`,
      }
  }
  const json = attempt(() => JSON.stringify(answer) ?? String(answer), typeof answer)
  return undecided(
    `the oracle answered ${clipText(json, SHOWN_MAX)}, which is neither true, false, 'pass', 'fail' nor 'undefined'`,
  )
}

/** One kind of oracle, without timeout and checks for broken runs. */
export interface OracleCheck {
  readonly judge: Judge
  /** Prepares one judgement. Does not count towards the timeout. */
  readonly prepare?: () => Promise<Judge>
  /** True if it can judge a run that did not reach its end. */
  readonly judgesBroken?: boolean
  /** Dependencies besides its text, for `Oracle.key`. */
  readonly key?: string
  readonly timeoutMs?: number
}

export function readOutcome(tape: Tape): RunOutcome {
  const view = viewRun(tape)
  const { exit } = view
  const written = (stream: 'stdout' | 'stderr'): Buffer =>
    Buffer.concat(
      view.outputs
        .filter((output) => output.stream === stream)
        .map((output) => view.outputBytes(output)),
    )
  const stdoutBytes = written('stdout')
  const result = view.result()
  // A function that returns counts as exit code 0, one that throws as 1.
  const ofFunction = exit?.signal === undefined ? Number(exit?.error !== undefined) : undefined
  const exitCode = exit && (exit.code ?? ofFunction)
  return {
    stdout: stdoutBytes.toString(),
    stdoutBytes,
    stderr: written('stderr').toString(),
    ended: exit !== undefined && exit.signal === undefined,
    ...defined({ exitCode, signal: exit?.signal, result }),
    ...(exit?.error && {
      error: { class: exit.error.class, name: exit.error.name, message: exit.error.message },
    }),
    tape: tape.path,
    files: filesOf(tape),
  }
}

/** A branch does not change the disk. Its files are beside its tape, under their path on disk. */
function filesOf({ path: file, details: { branch, cwd = process.cwd() } }: Tape): string {
  if (branch === undefined) return cwd
  const { root } = path.parse(cwd)
  const tree = path.join(planOverlay(path.resolve(file)), 'tree')
  return path.join(tree, root.replaceAll(/[:\\/]/g, ''), cwd.slice(root.length))
}
