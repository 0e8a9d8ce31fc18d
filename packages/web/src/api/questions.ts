import { validator } from 'hono/validator'
import { badQuestion } from '../errors.js'

/** A query as it comes; a name can stand in it several times. */
type Query = Readonly<Record<string, string | string[] | undefined>>

/** `?from=12`, a place in a list; the beginning when it is not said. */
export const asksFrom = validator('query', (query: Query) => ({
  from: wholeNumber(query, 'from') ?? 0,
}))

/** `?from=12&to=20`, events by number. */
export const asksRange = validator('query', (query: Query) => ({
  from: wholeNumber(query, 'from') ?? 0,
  to: wholeNumber(query, 'to') ?? 0,
}))

/** `?text=refund`, what is looked for. */
export const asksText = validator('query', (query: Query) => ({ text: oneText(query, 'text') }))

/** `?site=src/agent.ts:12:3`, a place in a source. */
export const asksSite = validator('query', (query: Query) => ({ site: oneText(query, 'site') }))

/** `?messagesFrom=12&eventsFrom=40`; what is not said is shown as far as it is shown unasked. */
export const asksParts = validator('query', (query: Query) => ({
  messagesFrom: wholeNumber(query, 'messagesFrom'),
  eventsFrom: wholeNumber(query, 'eventsFrom'),
}))

function oneText(query: Query, name: string): string {
  const value = query[name] ?? ''
  if (typeof value !== 'string') throw badQuestion(name, value.join(', '))
  return value
}

function wholeNumber(query: Query, name: string): number | undefined {
  const value = oneText(query, name)
  if (value === '') return undefined
  if (!/^\d{1,15}$/.test(value)) throw badQuestion(name, value)
  return Number(value)
}
