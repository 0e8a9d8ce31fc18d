const AGE_UNITS_MS: Readonly<Record<string, number>> = {
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
}

/** Milliseconds of an age such as `30m`, `12h`, `7d` or `2w`; undefined if it is not one. */
export function parseAge(text: unknown): number | undefined {
  const [, amount, unit = ''] = /^(\d+(?:\.\d+)?)([smhdw])$/.exec(String(text)) ?? []
  return amount === undefined ? undefined : Number(amount) * (AGE_UNITS_MS[unit] ?? 0)
}

const SIZE_UNITS = ['B', 'KB', 'MB', 'GB', 'TB']

/** Bytes of a size such as `500MB` or `1.5GB`; undefined if it is not one. */
export function parseSize(text: unknown): number | undefined {
  const [, amount, unit = ''] = /^(\d+(?:\.\d+)?) ?([KMGT]?B)$/i.exec(String(text)) ?? []
  if (amount === undefined) return undefined
  return Math.floor(Number(amount) * 1024 ** SIZE_UNITS.indexOf(unit.toUpperCase()))
}

/** A size for people: `1.5 MB`. */
export function sizeText(bytes: number): string {
  const unit = Math.min(SIZE_UNITS.length - 1, Math.floor(Math.log2(Math.max(1, bytes)) / 10))
  const amount = bytes / 1024 ** unit
  return `${unit === 0 ? amount : amount.toFixed(1)} ${SIZE_UNITS[unit]}`
}

/** The different values of a list, the most frequent first. */
export function mostFrequent(values: readonly string[]): string[] {
  const counts = new Map<string, number>()
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1)
  return [...counts].toSorted((a, b) => b[1] - a[1]).map(([value]) => value)
}
