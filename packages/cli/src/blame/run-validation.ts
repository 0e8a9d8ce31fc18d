import { Interruption } from '../bisect/interruption.js'
import { Progress } from '../progress.js'
import { painter, widthOf } from '../terminal.js'
import { flag } from '../verb.js'
import type { OptionValues } from '../verb.js'
import { readPool } from './read-search.js'
import { validateBlame } from './validate-blame.js'
import { validatedLines } from './validated-lines.js'

/** `retake blame --validate`: agents with known faults, blamed through real forks. Answers with the exit code. */
export async function runValidation(values: OptionValues): Promise<number> {
  const interruption = new Interruption()
  const progress = new Progress('recording agents with known faults')
  try {
    let done = 0
    const validated = await validateBlame(readPool(values), interruption.signal, () =>
      progress.say(`${++done} planted failures blamed`),
    )
    progress.stop()
    interruption.throwIfAny()
    const isGood = validated.every(({ isRight }) => isRight)
    const look = { paint: painter(process.stdout), width: widthOf(process.stdout) }
    console.log(
      flag(values, 'json')
        ? JSON.stringify({ good: isGood, faults: validated })
        : validatedLines(validated, look).join('\n'),
    )
    return isGood ? 0 : 1
  } finally {
    progress.stop()
    interruption.stop()
  }
}
