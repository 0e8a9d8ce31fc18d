import { readGuards, type Tape } from '@retake/tape'

/**
 * Guarded calls of a killed run that stand on its tape without a result and can be made
 * again without asking, by the number of the event that started them: their tool may run
 * twice, or it had not been started.
 */
export function safeToRepeat(tape: Tape): Readonly<Record<string, 'retry'>> {
  const safe = readGuards(tape).calls.filter(
    ({ facts, isNested, intent, state }) =>
      facts === undefined && !isNested && (intent.idempotent === true || state !== 'in doubt'),
  )
  return Object.fromEntries(safe.map(({ callSeq }) => [callSeq, 'retry']))
}
