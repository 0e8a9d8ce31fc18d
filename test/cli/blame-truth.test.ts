import { blameRun } from '@retake/diagnose'
import type { Coalition, Fork, ForkSource } from '@retake/diagnose'
import { expect, test } from 'vitest'

/** A program whose steps follow from one another, without processes. What is kept is wrong; `free` makes the others. */
function program(
  stepCount: number,
  free: (step: number, wrong: readonly boolean[]) => boolean,
  fails: (wrong: readonly boolean[], coalition: Coalition) => boolean,
): ForkSource {
  return {
    stepCount,
    recorded: Array.from({ length: stepCount }, () => 'wrong'),
    fork(coalition): Promise<Fork> {
      const wrong: boolean[] = []
      for (let step = 0; step < stepCount; step++)
        wrong.push(coalition.kept.includes(step) || free(step, wrong))
      return Promise.resolve({
        outcome: fails(wrong, coalition) ? 'fail' : 'pass',
        values: wrong.map((isWrong) => (isWrong ? 'wrong' : 'right')),
      })
    },
  }
}

test('what follows from one half of a joint cause only repeats it, and is no cause beside the other half', async () => {
  // Two lanes: 0 then 3, and 2 then 4; 6 joins them. 1 and 5 are bystanders.
  const source = program(
    7,
    (step, wrong) => {
      if (step === 3) return wrong[0]!
      if (step === 4) return wrong[2]!
      return step === 6 && wrong[3]! && wrong[4]!
    },
    (wrong) => wrong[6]!,
  )
  for (const seed of [1, 2, 3, 4, 5]) {
    const found = await blameRun(source, { seed })
    expect(found.causes.map(({ steps }) => steps)).toEqual([[0, 2]])
    expect(found.steps.map(({ role }) => role)).toEqual([
      ...['joint', 'clear', 'joint', 'affected', 'affected', 'clear', 'echo'],
    ])
  }
})

test('a world that breaks while it is searched makes no step a cause', async () => {
  for (let soundForks = 4; soundForks < 28; soundForks += 2) {
    let forks = 0
    const source = program(
      5,
      () => false,
      (wrong, { kept }) => {
        if (kept.length === wrong.length) return true
        return wrong[2]! || ++forks > soundForks
      },
    )
    const { causes, verdict } = await blameRun(source, { maxForks: 400 })
    const named = causes.map(({ steps }) => steps)
    expect({ soundForks, named }).toEqual({
      soundForks,
      named: verdict === 'attributed' ? [[2]] : [],
    })
  }
})
