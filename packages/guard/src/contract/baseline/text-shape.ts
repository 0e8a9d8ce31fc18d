/** Of a long text the beginning says what it is; patterns take longer than they should on more. */
const LOOKED_AT = 300

/** What a text looks like, coarsely: a sentence that becomes a path or an address stands out. */
export function textShape(text: string): string {
  const looked = text.slice(0, LOOKED_AT)
  return SHAPES.find(([, pattern]) => pattern.test(looked))?.[0] ?? 'text'
}

const SHAPES: readonly (readonly [string, RegExp])[] = [
  ['empty', /^\s*$/],
  ['address', /^[a-z][a-z\d+.-]{1,20}:\/\//i],
  ['mail address', /^[^\s@]+@[^\s@]+\.[^\s@]+$/],
  ['date', /^\d{4}-\d\d-\d\d(?:[T ][\d:.]+(?:Z|[+-]\d\d:?\d\d)?)?$/],
  ['number', /^[+-]?\d+(?:[.,]\d+)*$/],
  ['id', /^(?:[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}|[\da-f]{16,})$/i],
  ['path', /^(?:\.{0,2}[/\\]|~[/\\]|[a-z]:[/\\])|(?:^|[/\\])\.\.(?:[/\\]|$)/i],
  ['JSON', /^\s*[[{]/],
  ['code', /[`$;|<>]|&&|\w\(/],
]

/** What is longer is no address that anybody answers at. */
const LONGEST_ADDRESS = 8_000

/** Where a text leads to: the host of an address, the domain of a mail address. */
export function hostIn(text: string): string | undefined {
  if (text.length > LONGEST_ADDRESS) return undefined
  const mail = /^[^\s@]{1,300}@([^\s@.]+(?:\.[^\s@.]+)+)$/.exec(text)?.[1]
  if (mail !== undefined) return mail.toLowerCase()
  if (!/^[a-z][a-z\d+.-]{1,20}:\/\//i.test(text)) return undefined
  try {
    return new URL(text).hostname.toLowerCase()
  } catch {
    return undefined
  }
}
