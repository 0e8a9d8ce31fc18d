import { guard, type GuardOptions, type GuardResult } from 'retake'
import { onTestFinished } from 'vitest'
import { makeWorkspace } from '../support/run-retake.mjs'

export type Run = ReturnType<typeof guard>

/** A guard in a folder of its own, for one test. */
export async function guardIn(options: Omit<GuardOptions, 'name'>): Promise<Run> {
  const { folder, remove } = await makeWorkspace()
  onTestFinished(remove)
  const run = guard({ name: 'limited', dir: folder, ...options })
  onTestFinished(() => void run.end())
  return run
}

export const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

export const codeOf = ({ error }: GuardResult): string | undefined =>
  (error as { code?: string } | undefined)?.code

/** How many calls came to what. */
export function reasons(results: readonly GuardResult[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { status, exitReason = '' } of results) {
    const reason = `${status} ${exitReason}`.trim()
    counts[reason] = (counts[reason] ?? 0) + 1
  }
  return counts
}
