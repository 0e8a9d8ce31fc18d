import type { OutputKind } from './contract.js'
import { notJson } from './not-json.js'
import { pathText } from './path-text.js'
import { isBytes } from './type-of.js'

/** What a result is. One that is of no kind says what keeps it from being JSON, and where. */
export type FoundKind =
  | { readonly kind: OutputKind; readonly path: '' }
  | { readonly kind?: undefined; readonly path: string; readonly found: string }

/** Text is `text` here also when it holds JSON. */
export function outputKind(value: unknown): FoundKind {
  if (value === undefined) return { kind: 'nothing', path: '' }
  if (typeof value === 'string') return { kind: 'text', path: '' }
  if (isBytes(value)) return { kind: 'binary', path: '' }
  const odd = notJson(value)
  return odd === undefined
    ? { kind: 'json', path: '' }
    : { path: pathText(odd.path), found: odd.found }
}
