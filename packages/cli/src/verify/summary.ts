import type { Verified } from '../verify-tape.js'

/** Result of a set of tapes in one line: intact or not, replayed or not, and why not. */
export function summaryOf(results: readonly Verified[]): string {
  const count = (fits: (result: Verified) => boolean): number => results.filter(fits).length
  const some = (number: number, words: string): string[] =>
    number === 0 ? [] : [`${number} ${words}`]
  const integrity = (word: Verified['integrity']): number =>
    count((result) => result.integrity === word)
  const replay = (word: Verified['replay']): number => count((result) => result.replay === word)
  const reasons = new Set(results.flatMap(({ notReplayed }) => notReplayed ?? []))
  const notReplayed = [...reasons]
    .filter((reason) => !SAID.has(reason))
    .map((reason) => `${count((result) => result.notReplayed === reason)} not replayed (${reason})`)
  return [
    `${integrity('intact')} intact`,
    ...some(integrity('cut off'), 'cut off'),
    ...some(integrity('damaged'), 'damaged'),
    ...some(integrity('unreadable'), 'unreadable'),
    ...some(integrity('recording'), 'still being recorded'),
    ...some(replay('identical'), 'replayed identically'),
    ...some(replay('same output'), 'replayed with the same output, not held back'),
    ...some(replay('diverged'), 'diverged'),
    ...some(replay('failed'), 'failed to replay'),
    ...notReplayed,
  ].join(', ')
}

/** Reasons that the first half of the line has given already. */
const SAID = new Set(['damaged', 'unreadable', 'still being recorded'])
