import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import type { TapeEvent } from './events.js'
import { type Migration, migrationFrom, MIGRATIONS, Tape } from './tape.js'
import { nodePlatform } from '../node/node-platform.js'

/** A made-up past: in format -1 draws were called `value`, in format 0 their kind was in upper case. */
const steps: Migration[] = [
  {
    from: -1,
    event: (event) =>
      (event.type as string) === 'value' ? ({ ...event, type: 'draw' } as TapeEvent) : event,
  },
  {
    from: 0,
    event: (event) =>
      event.type === 'draw' ? { ...event, kind: event.kind.toLowerCase() } : event,
  },
]

test('an event of an old format passes every step up to the present, in order', () => {
  const old = { seq: 4, at: 1, type: 'value', kind: 'DATE.NOW', value: 5 } as unknown as TapeEvent
  const migrate = migrationFrom(-1, steps, 1)
  expect(migrate?.(old)).toEqual({ seq: 4, at: 1, type: 'draw', kind: 'date.now', value: 5 })
})

test('a format with a missing migration cannot be read', () => {
  expect(migrationFrom(-1, steps.slice(0, 1), 1)).toBeUndefined()
  expect(migrationFrom(-2, steps, 1)).toBeUndefined()
})

test('the known steps lead from format 1 to the present', () => {
  expect(migrationFrom(1)).toBeTypeOf('function')
  expect(MIGRATIONS.map(({ from }) => from)).toEqual(MIGRATIONS.map((_, i) => i + 1))
})

test('a tape of an old format is migrated as it is read, and still verified as it was written', () => {
  const golden = new URL('../../../../test/golden/format-1-sealed.tape', import.meta.url)
  const bytes = readFileSync(golden)
  const source = { size: bytes.length, read: (at: number, n: number) => bytes.subarray(at, at + n) }
  const [first, ...rest] = MIGRATIONS
  const renamed = {
    from: 1,
    event: (event: TapeEvent) => steps[1]?.event(first?.event(event) ?? event) ?? event,
  }
  const tape = Tape.open(nodePlatform, source, 'old.tape', { migrations: [renamed, ...rest] })
  expect(tape.event(1)).toMatchObject({ type: 'draw', kind: 'date.now' })
  expect(tape.verify()).toMatchObject({ ok: true, signature: 'valid' })
  expect(() => Tape.open(nodePlatform, source, 'old.tape', { migrations: rest })).toThrow(
    /format 1/,
  )
})
