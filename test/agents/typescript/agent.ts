// An agent in TypeScript, with what needs more than removing types: an enum,
// a namespace, a parameter property, imports of ./x.ts and of ./y.js that is y.ts.
import { readFile } from 'node:fs/promises'
import { ask, type Answer } from './model.ts'
import { Ledger } from './ledger.js'

enum Mood {
  Calm = 'calm',
  Busy = 'busy',
}

enum Level {
  Low,
  High = 10,
}

namespace Limits {
  export const questions = 4
}

interface Report {
  readonly mood: Mood
  readonly answers: readonly Answer[]
}

const ledger = new Ledger('agent')
const source = await readFile(new URL(import.meta.url), 'utf8')
ledger.log('started', source.includes('enum Mood'), Level[Level.High])

const answers = await Promise.all(
  Array.from({ length: Limits.questions }, async (_, index): Promise<Answer> => {
    const answer = await ask(`question ${index} ${Math.random()}`)
    ledger.log('answer', index, answer.text)
    return answer
  }),
)
const report = {
  mood: Math.random() < 0.5 ? Mood.Calm : Mood.Busy,
  answers,
} satisfies Report

ledger.log(report.mood, answers.map(({ id }) => id).join(' '))
try {
  ledger.fail()
} catch (error) {
  // The position must be the one in this folder's source.
  const [, frame] = (error as Error).stack?.split('\n') ?? []
  ledger.log('failed at', frame?.match(/ledger\.ts:\d+/)?.[0])
}
