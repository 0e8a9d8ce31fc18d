/** What a guard writes to a tape: decisions, facts of results, notes, and readers of them. */
export { factsOf } from './check-guard-facts.js'
export * from './guard-facts.js'
export * from './guard-note.js'
export * from './guard-savings.js'
export * from './guarded-calls.js'
