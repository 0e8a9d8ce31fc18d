import type { ClassicView } from '@retake/diagnose'
import { plural } from '../facts.js'
import { printable } from '../printable.js'
import { table } from '../table.js'
import type { Look } from '../terminal.js'
import { wrap } from '../wrap.js'
import type { SearchedStep } from './findings-file.js'
import { bar, rateText } from './rate-text.js'

/** What asking about one step at a time would say, for comparison. */
export function classicLines(
  classic: ClassicView,
  steps: readonly SearchedStep[],
  { paint, width }: Look,
): string[] {
  const { forksPerStep, rounds, forks, isStopped } = classic
  const rows = classic.steps.map(({ label, flip, share }, index) => [
    `  ${label}`,
    bar(flip, 10),
    rateText(flip),
    flip.isBelieved ? 'yes' : '',
    share.toFixed(2),
    ...(width < 80 ? [] : [printable(steps[index]?.name ?? '')]),
  ])
  return [
    '',
    paint('bold', 'classic view'),
    ...wrap(
      `one step kept at a time, ${forksPerStep} forks each, Wilson intervals; shares over ${plural(rounds, 'round')}; ${plural(forks, 'fork')}${isStopped ? ', stopped by a limit' : ''}. It ranks; it cannot tell echoes and joint causes.`,
      width - 2,
    ).map((line) => `  ${line}`),
    ...table([['  step', '', 'fails alone', 'beyond chance', 'share', ''], ...rows], width),
  ]
}
