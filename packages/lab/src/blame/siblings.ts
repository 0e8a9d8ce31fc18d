import { findingsPath, type RunStore, viewRun } from '@retake/runner/runs'
import { existsSync } from 'node:fs'
import path from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { diffRuns } from '@retake/tape/diff'
import type { FreeAnswer } from '@retake/engine'
import { callContentKey } from '@retake/engine/plans'
import type { Step, Tape } from '@retake/tape'
import { openTape } from '@retake/tape/node'
import { attempt } from '@retake/tape/format'
import { type Oracle, readOutcome } from '@retake/runner/oracle'
import { hasEffects } from './effects.js'
import { canonicalFindings } from './findings.js'
import { answerOf } from './build-answer.js'
import { tapesWithChildren } from './process-tree.js'

/** The newest runs are enough to learn the answers of tools. */
const SIBLINGS_MAX = 50
/** The oracle may be slow. */
const JUDGED_MAX = 10

/** An answer that another run got to the same call. */
export interface OtherAnswer {
  readonly answer: FreeAnswer
  readonly run: string
  /** True if the run passes by the oracle of the search. */
  readonly passes: boolean
}

/**
 * Other runs of the same agent: same entry file or command, recorded beside the searched run.
 * Branches are left out, because their answers may have been edited.
 */
export class Siblings {
  #tapes: readonly Tape[] | undefined
  /** Most similar first. */
  #passing: readonly Tape[] = []

  constructor(
    readonly tape: Tape,
    readonly runs: RunStore,
  ) {}

  /** Newest first. */
  get tapes(): readonly Tape[] {
    this.#tapes ??= this.runs
      .ids()
      .filter((id) => id !== this.tape.run.id)
      .flatMap((id) => attempt(() => [openTape(this.runs.pathOf(id))], []))
      .filter((other) => other.run.parent === undefined && isSameAgent(this.tape, other))
      .slice(0, SIBLINGS_MAX)
    return this.#tapes
  }

  /**
   * Runs with the same arguments and input that may show what a correct run prints. Excludes runs
   * that this one repeats, which were probably wrong, and runs with findings, which failed a check.
   */
  get references(): readonly Tape[] {
    const { args = [], input } = this.tape.details
    // Runs that this one was forked, rerun or resumed from.
    const repeated = new Set<string>()
    let { parent } = this.tape.run
    while (parent !== undefined) {
      const { run } = parent
      repeated.add(run)
      parent = attempt(() => openTape(this.runs.pathOf(run)))?.run.parent
    }
    return this.tapes.filter(
      ({ path: file, run, details }) =>
        isDeepStrictEqual(details.args ?? [], args) &&
        isDeepStrictEqual(details.input, input) &&
        !repeated.has(run.id) &&
        !existsSync(findingsPath(file, run.id)),
    )
  }

  /** Finds passing runs by their recorded outcomes. Skips `judge:` oracles, which cost money. */
  async judge(oracle: Oracle, signal: AbortSignal): Promise<void> {
    if (/^(not:\s*)*judge:/.test(oracle.text)) return
    const here = viewRun(this.tape)
    const passing: { tape: Tape; steps: number }[] = []
    for (const tape of this.tapes.slice(0, JUDGED_MAX))
      if ((await oracle(readOutcome(tape), signal)).verdict === 'pass')
        passing.push({ tape, steps: diffRuns(here, viewRun(tape)).steps.length })
    this.#passing = passing.toSorted((a, b) => a.steps - b.steps).map(({ tape }) => tape)
  }

  /**
   * Answers of other runs by call, those of the most similar passing run first. Excludes answers
   * that this run got to the same call.
   */
  otherAnswers(): ReadonlyMap<string, readonly OtherAnswer[]> {
    const own = new Map<string, FreeAnswer[]>()
    for (const [key, answer] of tapesWithChildren(this.tape).flatMap(answersOn))
      own.set(key, [...(own.get(key) ?? []), answer])
    const found = new Map<string, OtherAnswer[]>()
    for (const tape of new Set([...this.#passing, ...this.tapes])) {
      for (const [key, answer] of tapesWithChildren(tape).flatMap(answersOn)) {
        const known = own.get(key) ?? []
        const others = found.get(key) ?? []
        if (known.length > 1) continue
        if (
          [...known, ...others.map((other) => other.answer)].some((each) =>
            isDeepStrictEqual(each, answer),
          )
        )
          continue
        others.push({ answer, run: tape.run.id, passes: this.#passing.includes(tape) })
        found.set(key, others)
      }
    }
    return found
  }
}

/** True if both runs started the same file or command. */
export function isSameAgent({ details: a }: Tape, { details: b }: Tape): boolean {
  if (a.entry !== undefined && b.entry !== undefined)
    return path.resolve(a.cwd ?? '', a.entry) === path.resolve(b.cwd ?? '', b.entry)
  return a.command !== undefined && isDeepStrictEqual(a.command, b.command)
}

/** Every answered call with effects on a tape. */
function answersOn(tape: Tape): [key: string, answer: FreeAnswer][] {
  return viewRun(tape)
    .steps.filter((step) => step.inferred || hasEffects(step))
    .flatMap((step) => {
      const key = callKeyOf(tape, step)
      const answer = attempt(() => answerOf(tape, step))
      return key === undefined || answer === undefined ? [] : [[key, answer]]
    })
}

/** Equal for equal calls on all tapes; undefined for a step that is not a call itself. */
export function callKeyOf(tape: Tape, step: Step): string | undefined {
  if (step.inferred) return `unwrapped ${step.toolName} ${canonicalFindings(step.call()?.args)}`
  const event = tape.event(step.seq)
  return event.type === 'request' || event.type === 'call'
    ? callContentKey(event, tape.body(step.seq))
    : undefined
}
