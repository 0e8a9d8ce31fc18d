const UNITS = [
  { ms: 86_400_000, word: 'd' },
  { ms: 3_600_000, word: 'h' },
  { ms: 60_000, word: 'min' },
] as const

/** How long ago something was, in one unit; a date when it is more than four weeks. */
export function relativeTime(at: number, now: number): string {
  const ago = now - at
  if (ago > 28 * 86_400_000 || ago < -60_000) return new Date(at).toLocaleDateString()
  const unit = UNITS.find(({ ms }) => ago >= ms)
  return unit === undefined ? 'just now' : `${Math.floor(ago / unit.ms)} ${unit.word} ago`
}
