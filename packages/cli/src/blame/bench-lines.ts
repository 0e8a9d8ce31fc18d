import { duration } from '../duration.js'
import { plural } from '../facts.js'
import { table } from '../table.js'
import type { Look } from '../terminal.js'
import { isGood } from './bench-blame.js'
import type { BlameBench } from './bench-blame.js'

/** The benchmark for a person. */
export function benchLines(bench: BlameBench, { paint, width }: Look): string[] {
  const { competing, scenarios, controls, seeds, wallMs } = bench
  const right = competing.filter(({ isRight }) => isRight).length
  const mean = (read: (each: (typeof scenarios)[number]) => number): number =>
    scenarios.reduce((sum, each) => sum + read(each), 0) / scenarios.length
  const exact = mean(({ score }) => score.exact)
  const forks = mean(({ score }) => score.forksMean)
  const wrong = mean(({ score }) => score.falseBlameRuns)
  return [
    `${isGood(bench) ? paint('green', 'good') : paint('red', 'not good')} · competing faults ${right} of ${competing.length} · exact causes ${share(exact)} · false blame ${share(wrong)} · ${duration(wallMs)}`,
    '',
    paint('bold', 'competing faults'),
    ...table(
      [
        ['', 'necessary', 'sufficient', 'forks', 'said'],
        ...competing.map((each) => [
          `  ${each.name}`,
          word(each.isNecessary),
          word(each.isSufficient),
          String(each.forks),
          each.isRight ? 'right' : `WRONG: ${each.said.map(word).join(', ')}`,
        ]),
      ],
      width,
    ),
    '',
    paint('bold', `scenarios, ${plural(seeds, 'seed')} each`),
    ...table(
      [
        ['', 'exact', 'false blame', 'forks', '95 % take'],
        ...scenarios.map(({ name, score }) => [
          `  ${name}`,
          share(score.exact),
          share(score.falseBlameRuns),
          score.forksMean.toFixed(0),
          score.forksP95.toFixed(0),
        ]),
        ['  mean', share(exact), share(wrong), forks.toFixed(0), ''],
      ],
      width,
    ),
    '',
    paint('bold', 'nothing to blame'),
    ...table(
      controls.map(({ name, runs, blamed }) => [`  ${name}`, `${blamed} of ${runs} blamed a step`]),
      width,
    ),
  ]
}

const word = (value: boolean): string => (value ? 'yes' : 'no')
const share = (part: number): string => part.toFixed(3).replace(/^0/, '')
