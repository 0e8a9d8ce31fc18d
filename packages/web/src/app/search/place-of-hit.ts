import type { SearchField, SearchHit } from '../../model/run-parts.js'

/** Where a hit is looked at: the tab of its step, and the field in it. */
export interface HitPlace {
  readonly tab?: string
  readonly field?: string
}

/** Tab of a field, and what its path begins with there. */
const PLACES: Readonly<Record<SearchField, { readonly tab?: string; readonly base: string }>> = {
  title: { base: '' },
  place: { base: 'places' },
  error: { tab: 'error', base: 'error' },
  message: { tab: 'chat', base: 'messages' },
  answer: { tab: 'chat', base: 'answer' },
  args: { tab: 'call', base: 'args' },
  result: { tab: 'call', base: 'result' },
  request: { tab: 'request', base: 'request.body' },
  response: { tab: 'response', base: 'response.body' },
  headers: { tab: 'request', base: 'request.headers' },
  console: { tab: 'console', base: '' },
  file: { tab: 'files', base: 'file' },
  state: { tab: 'state', base: '' },
}

export function placeOfHit({ field, path, seq }: SearchHit): HitPlace {
  const { tab, base } = PLACES[field]
  if (field === 'headers' && path.startsWith('response'))
    return { tab: 'response', field: path.startsWith('response.') ? path : `response.${path}` }
  const whole =
    field === 'file'
      ? `file.${seq}`
      : base === '' || path === base || path.startsWith(`${base}.`)
        ? path
        : [base, path].filter((part) => part !== '').join('.')
  return { ...(tab !== undefined && { tab }), ...(whole !== '' && { field: whole }) }
}
