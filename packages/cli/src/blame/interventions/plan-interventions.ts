import { accessSync, constants } from 'node:fs'
import path from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { FreeAnswer } from '@retake/engine'
import type { Step, Tape } from '@retake/tape'
import { openTape } from '@retake/tape/node'
import { wrongUsage } from '../../errors/command-line.js'
import { hashOfCode } from '../../hash-of-code.js'
import { RunStore } from '../../run-store.js'
import { changedAnswer, DoesNotFit, givenAnswer, recordedAnswer } from './build-answer.js'
import { describeInterventions } from './describe-interventions.js'
import { parseFree } from './free-spec.js'
import type { FreeSpec } from './free-spec.js'
import { freedSteps } from './freed-steps.js'
import { scriptedAnswer } from './scripted-answer.js'
import { SiblingAnswers } from './sibling-answers.js'

export interface InterventionOptions {
  /** File of a module that answers every free step which nothing else answers. */
  readonly simulator?: string
  /** Where files are looked for; the working directory unless set. */
  readonly folder?: string
  /** Where sibling runs are looked for. */
  readonly runs?: RunStore
}

/** How the steps of a run are made free. */
export interface Interventions {
  /** By label, what a free step is answered with. */
  readonly answers: Readonly<Record<string, FreeAnswer>>
  /** Absolute path of the simulator, and what tells it from another: a hash of its code. */
  readonly simulator?: string
  readonly simulatorKey?: string
  /** Labels of the steps that are asked live; with a simulator, only where it has no answer. */
  readonly live: readonly string[]
  /** What is to happen, in a line, for before anything is spent. */
  readonly describe: string
  /** What the user should know: an answer that is the recorded one, a step that stays live after all. */
  readonly warnings: readonly string[]
}

/**
 * Turns what the user said about free steps into answers by label. The closest that
 * names a step decides, and of equals the last; without any, a step is asked live.
 * Throws when something is named that is not there, or a step that is named by its
 * number cannot be answered so.
 */
export function planInterventions(
  tape: Tape,
  steps: readonly Step[],
  specs: readonly string[],
  options: InterventionOptions = {},
): Interventions {
  const { folder, runs = new RunStore() } = options
  const parsed = specs.map((text) => parseFree(text, folder === undefined ? {} : { folder }))
  const make = answerMaker(tape, runs)
  const answers: Record<string, FreeAnswer> = {}
  const hows = new Map<string, string>()
  const warnings: string[] = []
  for (const { spec, freed, closeness } of inOrder(parsed, steps)) {
    for (const step of freed) {
      const { label } = step
      const way = hows.get(label)
      try {
        const answer = make(step, spec, way?.startsWith('set:') ? answers[label] : undefined)
        if (answer === 'as before') continue
        delete answers[label]
        hows.delete(label)
        if (answer === 'live') continue
        answers[label] = answer
        hows.set(label, spec.text.slice(spec.text.indexOf('=') + 1).trim())
      } catch (error) {
        if (!(error instanceof DoesNotFit)) throw error
        if (closeness === 3) throw doesNotFit(label, spec, error.message)
        warnings.push(`step ${label} stays ${way ?? 'live'}: ${error.message}`)
      }
    }
  }
  for (const step of steps) {
    const answer = answers[step.label]
    if (answer !== undefined && isDeepStrictEqual(answer, recordedAnswer(tape, step)))
      warnings.push(`step ${step.label} is answered as it was recorded: freeing it changes nothing`)
  }
  const simulator = simulatorOf(options)
  const live = steps.flatMap(({ label }) => (label in answers ? [] : [label]))
  return {
    answers,
    ...simulator,
    live,
    describe: describeInterventions(steps, hows, options.simulator),
    warnings,
  }
}

/** Those that name a step closely come last, and so win. */
function inOrder(
  specs: readonly FreeSpec[],
  steps: readonly Step[],
): { spec: FreeSpec; freed: readonly Step[]; closeness: number }[] {
  return specs
    .map((spec) => {
      const { steps: freed, closeness } = freedSteps(spec.where, steps)
      checkScript(spec, steps)
      return { spec, freed, closeness }
    })
    .toSorted((a, b) => a.closeness - b.closeness)
}

function checkScript({ how, text }: FreeSpec, steps: readonly Step[]): void {
  if (how.kind !== 'script') return
  const unknown = Object.keys(how.answers).find((key) => !steps.some(({ label }) => label === key))
  if (unknown !== undefined)
    throw wrongUsage(
      'blame',
      `--free ${text} answers a step that cannot be made free.`,
      `${how.file} names step ${unknown}.`,
    )
}

type MakeAnswer = (
  step: Step,
  spec: FreeSpec,
  /** What earlier changes of the same step have made of its answer. */
  changed: FreeAnswer | undefined,
) => FreeAnswer | 'live' | 'as before'

function answerMaker(tape: Tape, runs: RunStore): MakeAnswer {
  const siblings = new Map<string, SiblingAnswers>()
  const siblingOf = (name: string): SiblingAnswers => {
    const known = siblings.get(name) ?? new SiblingAnswers(tape, openTape(runs.find(name)))
    siblings.set(name, known)
    return known
  }
  return (step, { how }, changed) => {
    switch (how.kind) {
      case 'live':
      case 'neutral':
      case 'nothing':
      case 'error':
        return scriptedAnswer(tape, step, how.kind)
      case 'given':
        return givenAnswer(tape, step, how.bytes)
      case 'set':
        return changedAnswer(tape, step, how, changed)
      case 'run':
        return siblingOf(how.run).answer(step)
      case 'script':
        return step.label in how.answers
          ? scriptedAnswer(tape, step, how.answers[step.label])
          : 'as before'
    }
  }
}

const doesNotFit = (label: string, { text }: FreeSpec, why: string): Error =>
  wrongUsage('blame', `--free ${text} does not fit step ${label}.`, `${why.replace(/\.$/, '')}.`)

function simulatorOf({
  simulator,
  folder = process.cwd(),
}: InterventionOptions): Pick<Interventions, 'simulator' | 'simulatorKey'> {
  if (simulator === undefined) return {}
  const file = path.resolve(folder, simulator)
  try {
    accessSync(file, constants.R_OK)
    return { simulator: file, simulatorKey: hashOfCode([file]) }
  } catch (error) {
    throw wrongUsage(
      'blame',
      `The simulator ${simulator} cannot be read.`,
      (error as Error).message,
    )
  }
}
