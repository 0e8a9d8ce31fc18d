/** What a text looks like, coarsely: a sentence that becomes a path or an address stands out. */
export function textShape(text: string): string {
  return SHAPES.find(([, pattern]) => pattern.test(text))?.[0] ?? 'text'
}

const SHAPES: readonly (readonly [string, RegExp])[] = [
  ['empty', /^\s*$/],
  ['address', /^[a-z][a-z\d+.-]{1,20}:\/\//i],
  ['mail address', /^[^\s@]+@[^\s@]+\.[^\s@]+$/],
  ['date', /^\d{4}-\d\d-\d\d(?:[T ][\d:.]+(?:Z|[+-]\d\d:?\d\d)?)?$/],
  ['number', /^[+-]?\d+(?:[.,]\d+)*$/],
  ['id', /^(?:[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}|[\da-f]{16,})$/i],
  ['path', /^(?:\.{0,2}[/\\]|~[/\\]|[a-z]:[/\\])|(?:^|[/\\])\.\.(?:[/\\]|$)/i],
  ['JSON', /^\s*[[{][^]*[\]}]\s*$/],
  ['code', /[`$;|<>]|&&|\w\(.*\)/],
]

/** Where a text leads to: the host of an address, the domain of a mail address. */
export function hostIn(text: string): string | undefined {
  const mail = /^[^\s@]+@([^\s@]+\.[^\s@]+)$/.exec(text)?.[1]
  if (mail !== undefined) return mail.toLowerCase()
  if (!/^[a-z][a-z\d+.-]{1,20}:\/\//i.test(text)) return undefined
  try {
    return new URL(text).hostname.toLowerCase()
  } catch {
    return undefined
  }
}
