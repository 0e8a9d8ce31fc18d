import type { BlamedStep, BlameFindings } from './blame-findings.js'
import { isRecord } from '../format/values/json-shape.js'
import type { SearchedStepWords } from '../present/blame-words.js'

/** Worst first. Of several steps at one pixel, the worst is shown. */
export const BLAME_ROLES = [
  'root',
  'joint',
  'back-up',
  'echo',
  'affected',
  'unknown',
  'clear',
] as const satisfies readonly BlamedStep['role'][]

/** Reads the findings in a stored blame file. Throws if they cannot be used. */
export function readRunBlame(value: unknown, run: string): RunBlame {
  const file =
    isRecord(value) && isRecord(value.findings) ? (value as unknown as BlameFile) : undefined
  if (file === undefined) throw new Error('It contains no findings')
  if (file.version > 1)
    throw new Error(`It was written by a newer version of Retake (form ${file.version})`)
  if (file.version !== 1) throw new Error('Its format is unknown')
  if (file.run !== run) throw new Error('It belongs to another run')
  const version: number = file.findings.version
  if (version !== 2)
    throw new Error(
      `Its findings are of ${version > 2 ? 'a newer' : 'an older'} version of Retake (${version})`,
    )
  const { newForks, forcedAnswers, wallMs, undefinedBy = {}, free = [] } = file.facts ?? {}
  return withoutNulls({
    at: file.at,
    oracle: file.oracle,
    findings: file.findings,
    steps: (file.steps ?? []).map(({ label, name, did, free, isInferred }) => ({
      label,
      name,
      did,
      free,
      isInferred,
    })),
    facts: {
      newForks,
      forcedAnswers,
      wallMs,
      undefinedBy: Object.entries(undefinedBy).map(([reason, count]) => ({ reason, count })),
      free,
    },
  })
}

/** Removes nulls, which JSON has in place of numbers that are not finite. */
const withoutNulls = <T>(value: T): T =>
  JSON.parse(JSON.stringify(value), (_key, each: unknown) => each ?? undefined) as T

interface BlameFile extends Pick<RunBlame, 'at' | 'oracle'>, Partial<Pick<RunBlame, 'steps'>> {
  readonly version: number
  readonly run: string
  readonly findings: BlameFindings & { readonly version: number }
  readonly facts?: Partial<
    Omit<SearchFactsView, 'undefinedBy'> & { readonly undefinedBy: Record<string, number> }
  >
}

export interface RunBlame {
  readonly at: number
  readonly oracle: string
  readonly findings: BlameFindings
  /** What the searched steps did, in the order of `findings.steps`; may be empty. */
  readonly steps: readonly SearchedStepView[]
  readonly facts: SearchFactsView
}

export interface SearchedStepView extends SearchedStepWords {
  /** True for a tool call that appears only in the conversation. */
  readonly isInferred?: boolean | undefined
}

export interface SearchFactsView {
  /** Forks run by this search. Others come from earlier searches. */
  readonly newForks?: number | undefined
  readonly forcedAnswers?: number | undefined
  readonly wallMs?: number | undefined
  readonly undefinedBy: readonly { readonly reason: string; readonly count: number }[]
  readonly free: readonly string[]
}
