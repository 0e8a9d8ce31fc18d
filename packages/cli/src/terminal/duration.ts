/** Milliseconds as a person would say them: `38 ms`, `1.2 s`, `3 min 4 s`. */
export function duration(ms: number): string {
  if (ms < 1) return '0 ms'
  if (ms < 100) return `${Math.round(ms)} ms`
  if (ms < 9950) return `${trim(ms / 1000, ms < 995 ? 2 : 1)} s`
  if (ms < 59_500) return `${Math.round(ms / 1000)} s`
  const seconds = Math.round(ms / 1000)
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`
}

const trim = (value: number, digits: number): string => value.toFixed(digits)
