import { duration } from '../duration.js'
import { table } from '../table.js'
import type { Look } from '../terminal.js'
import type { Validated } from './validate-blame.js'

/** What became of agents with known faults, for a person. */
export function validatedLines(validated: readonly Validated[], look: Look): string[] {
  const { paint, width } = look
  const right = validated.filter(({ isRight }) => isRight).length
  const forks = validated.reduce((sum, each) => sum + each.forks, 0)
  const wallMs = Math.max(0, ...validated.map((each) => each.wallMs))
  const isGood = right === validated.length
  return [
    `${paint(isGood ? 'green' : 'red', isGood ? 'valid' : 'not valid')} · ${right} of ${validated.length} as planted · ${forks} forks · ${duration(wallMs)}`,
    '',
    ...table(
      [
        ['planted failure', 'to blame', 'forks', 'blamed'],
        ...validated.map((each) => [
          each.name,
          each.planted,
          String(each.forks),
          each.isRight ? each.found : `${each.found}  WRONG`,
        ]),
      ],
      width,
    ),
  ]
}
