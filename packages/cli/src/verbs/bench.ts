import { benchBlame, isGood } from '../blame/bench-blame.js'
import { benchLines } from '../blame/bench-lines.js'
import { wrongUsage } from '../errors/command-line.js'
import { Progress } from '../progress.js'
import { painter, widthOf } from '../terminal.js'
import { flag, text } from '../verb.js'
import type { OptionValues, Verb } from '../verb.js'

const SEEDS = 40

export const bench: Verb = {
  usage: 'blame [--seeds 40]',
  help: `Puts failures whose causes are known to the search of \`retake blame\`: nine
competing faults, seventeen scenarios, and runs in which nothing is to blame.
They are models of runs, so nothing is asked and nothing is written. Exit code 1
when the search is not as good as it is meant to be.

Options:
  --seeds <n>  how often each scenario is drawn (default: ${SEEDS})
  --json       the figures as JSON

Examples:
  retake bench blame
  retake bench blame --seeds 200 --json`,
  options: { seeds: { type: 'string' } },
  async run(values, [what, ...rest]) {
    if (what !== 'blame' || rest.length > 0)
      throw wrongUsage('bench', 'Say what to measure.', 'For example: retake bench blame.')
    const progress = new Progress('competing faults')
    try {
      const result = await benchBlame(seedsOf(values), (name) => progress.say(name))
      progress.stop()
      const look = { paint: painter(process.stdout), width: widthOf(process.stdout) }
      console.log(
        flag(values, 'json')
          ? JSON.stringify({ good: isGood(result), ...result })
          : benchLines(result, look).join('\n'),
      )
      return isGood(result) ? 0 : 1
    } finally {
      progress.stop()
    }
  },
}

function seedsOf(values: OptionValues): number {
  const given = text(values, 'seeds') ?? String(SEEDS)
  const number = Number(given)
  if (/^\d+$/.test(given) && number >= 1 && number <= 100_000) return number
  throw wrongUsage('bench', `"${given}" is no number for --seeds.`, 'It starts at 1.')
}
