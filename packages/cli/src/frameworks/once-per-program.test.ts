import { expect, test } from 'vitest'
import { oncePerProgram } from './adapter.js'

test('done again, it is done once and has the same undo; undone, it can be done again', () => {
  const said: string[] = []
  const setUp = oncePerProgram((name: string) => {
    said.push(`do ${name}`)
    return () => said.push(`undo ${name}`)
  })
  const undo = setUp('first')
  expect(setUp('second')).toBe(undo)
  undo()
  setUp('third')
  expect(said).toEqual(['do first', 'undo first', 'do third'])
})
