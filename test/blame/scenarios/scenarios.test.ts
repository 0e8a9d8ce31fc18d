import { describe, expect, test } from 'vitest'
import { isSoak } from '../../support/soak.js'
import { EXPECTED, judgeScenario } from './expected.mjs'
import { blameScenario, LETTERS } from './lab.mjs'

const letters = isSoak ? LETTERS : LETTERS.filter((letter) => EXPECTED[letter]?.isSampled)

describe('blame names the planted cause, or says that it cannot decide', () => {
  test.each(letters.map((letter) => [letter, EXPECTED[letter]?.what ?? '?'] as const))(
    '%s: %s',
    async (letter) => {
      const { mistakes, ...judged } = judgeScenario(letter, await blameScenario(letter))
      expect(mistakes, JSON.stringify(judged)).toEqual([])
    },
  )
})
