const AGE_UNITS_MS: Readonly<Record<string, number>> = {
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
}

/** Milliseconds of an age such as `30m`, `12h`, `7d` or `2w`; undefined if invalid. */
export function parseAge(text: unknown): number | undefined {
  const [, amount, unit = ''] = /^(\d+(?:\.\d+)?)([smhdw])$/.exec(String(text)) ?? []
  return amount === undefined ? undefined : Number(amount) * (AGE_UNITS_MS[unit] ?? 0)
}
