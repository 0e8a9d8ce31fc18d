import { TestRunner, type RunnerTestCase } from 'vitest'

/** True in `npm run soak`, which runs the full matrices and all repetitions. */
export const isSoak = process.env['RETAKE_SOAK'] === '1'

/** Skips the test that calls it, with a reason that the report shows. Not for concurrent tests. */
export const skipTest = (reason: string): never =>
  TestRunner.getCurrentTest<RunnerTestCase>().context.skip(reason)

/** Skips the test that calls it, unless in a soak. Not for concurrent tests. */
export function soakOnly(): void {
  if (!isSoak) skipTest('runs in `npm run soak`')
}

/** A number of repetitions. The environment variable, if set, overrides both. */
export function repetitions(
  variable: string,
  { beforeMerge, soak }: { readonly beforeMerge: number; readonly soak: number },
): number {
  return Number(process.env[variable] ?? (isSoak ? soak : beforeMerge))
}

/** All cases in a soak, otherwise those that `isSampled` selects. */
export const sampled = <T>(
  cases: readonly T[],
  isSampled: (each: T, index: number) => boolean,
): readonly T[] => (isSoak ? cases : cases.filter(isSampled))
