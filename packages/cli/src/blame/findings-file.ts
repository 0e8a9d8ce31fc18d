import { mkdirSync, renameSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import type { ClassicView } from '@retake/diagnose'
import type { BlameFindings, SpanFindings, StepKind } from '@retake/tape'

/** What a search for causes came to, as it is kept beside the runs: one file a run, of the last search. */
export interface FindingsFile {
  readonly version: 1
  /** Id of the run that was searched. */
  readonly run: string
  /** When the search ended, milliseconds since 1970. */
  readonly at: number
  /** The oracle, as it was given. */
  readonly oracle: string
  /** Hash of what was asked: oracle, interventions, seed. */
  readonly question: string
  /** What was searched; `findings.steps[i]` is about `steps[i]`. */
  readonly steps: readonly SearchedStep[]
  readonly findings: BlameFindings
  /** What asking about one step at a time would say, where that was wanted. */
  readonly classic?: ClassicView
  /** Which words of what a model was asked mattered, where that was wanted. */
  readonly spans?: SpanFindings
  readonly facts: SearchFacts
}

/** A step as a person knows it. */
export interface SearchedStep {
  readonly label: string
  readonly kind: StepKind
  /** What kind of step, and which: `tool search_policy`. */
  readonly name: string
  readonly title: string
}

/** How the search went. */
export interface SearchFacts {
  /** Forks that were run now; the others had been run by an earlier search. */
  readonly newForks: number
  /** Why forks came to no verdict, each kind with how often. */
  readonly undefinedBy: Readonly<Record<string, number>>
  /** Recorded answers that were given although the question had changed. */
  readonly forcedAnswers: number
  readonly wallMs: number
  /** How free steps are answered, as it was given; live unless named. */
  readonly free: readonly string[]
  readonly maxForks: number
  readonly maxUsd?: number
  readonly seed: number
}

/** The folder for what blame keeps about the runs of a folder: `.retake/blame` for `.retake/runs`. */
export function blameFolder(tapeFile: string): string {
  const runs = path.dirname(path.resolve(tapeFile))
  return path.join(path.basename(runs) === 'runs' ? path.dirname(runs) : runs, 'blame')
}

export const findingsPath = (tapeFile: string, run: string): string =>
  path.join(blameFolder(tapeFile), `${run}.json`)

/** Replaces what an earlier search of this run had come to. */
export function writeFindings(tapeFile: string, found: FindingsFile): void {
  const file = findingsPath(tapeFile, found.run)
  mkdirSync(path.dirname(file), { recursive: true })
  const draft = `${file}.${process.pid}.tmp`
  writeFileSync(draft, `${JSON.stringify(found)}\n`)
  renameSync(draft, file)
}
