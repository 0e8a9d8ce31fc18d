/** What is searched for stands in the address of a run, beside what else stands there. */
export interface SearchQuery {
  readonly q?: string
}

export function readSearchQuery({ q }: Record<string, unknown>): SearchQuery {
  const text = typeof q === 'number' || typeof q === 'boolean' ? String(q) : q
  return typeof text === 'string' && text !== '' ? { q: text } : {}
}
