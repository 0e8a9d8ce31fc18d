/** Money the way bills show it; nothing when it is not known. */
export function cost(usd: number | undefined): string {
  if (usd === undefined) return ''
  if (usd === 0) return '$0'
  if (usd < 0.000005) return '<$0.00001'
  return usd < 0.01 ? `$${usd.toFixed(5)}` : `$${usd.toFixed(2)}`
}

/** Today as `09:30:12`, other days as `11-14 09:30`, in the zone of the reader. */
export function localTime(epochMs: number, now = new Date()): string {
  const then = new Date(epochMs)
  const two = (value: number): string => String(value).padStart(2, '0')
  const clock = `${two(then.getHours())}:${two(then.getMinutes())}`
  if (then.toDateString() === now.toDateString()) return `${clock}:${two(then.getSeconds())}`
  const day = `${two(then.getMonth() + 1)}-${two(then.getDate())}`
  return then.getFullYear() === now.getFullYear()
    ? `${day} ${clock}`
    : `${then.getFullYear()}-${day}`
}

export const plural = (count: number, word: string): string =>
  `${count} ${word}${count === 1 ? '' : 's'}`
