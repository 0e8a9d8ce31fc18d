import { attempt } from '@retake/tape'

/** Path where the viewer is mounted; empty at the root and in reports. */
export const viewerBase = (): string =>
  document.querySelector<HTMLMetaElement>('meta[name="retake-base"]')?.content ?? ''

/**
 * Parses search parameters. Strings are not encoded as JSON, so that links are readable:
 * `?step=3&q=refund`. Lists are JSON, and so are strings that look like JSON. Pages validate the
 * values.
 */
export const readAddress = (search: string): Record<string, unknown> =>
  Object.fromEntries(
    [...new URLSearchParams(search)].map(([name, value]) => [
      name,
      LOOKS_LIKE_JSON.test(value) ? attempt(() => JSON.parse(value) as unknown, value) : value,
    ]),
  )

export function writeAddress(search: Record<string, unknown>): string {
  const params = new URLSearchParams()
  for (const [name, value] of Object.entries(search))
    if (value !== undefined) params.set(name, writeValue(value))
  const text = params.toString()
  return text === '' ? '' : `?${text}`
}

const LOOKS_LIKE_JSON = /^["[{]/

/** A list with one item is written as the item. */
function writeValue(value: unknown): string {
  if (Array.isArray(value) && value.length === 1) return writeValue(value[0])
  if (typeof value === 'string') return LOOKS_LIKE_JSON.test(value) ? JSON.stringify(value) : value
  return JSON.stringify(value)
}
