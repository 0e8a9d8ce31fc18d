/** Milliseconds as a person would say them: `0.4 ms`, `38 ms`, `1.2 s`, `3 min 4 s`, `2 h 5 min`. */
export function duration(ms: number): string {
  if (ms <= 0) return '0 ms'
  if (ms < 1) return `${Number(ms.toPrecision(2))} ms`
  if (ms < 100) return `${Math.round(ms)} ms`
  if (ms < 9950) return `${(ms / 1000).toFixed(ms < 995 ? 2 : 1)} s`
  if (ms < 59_500) return `${Math.round(ms / 1000)} s`
  const seconds = Math.round(ms / 1000)
  if (seconds < 3600) return pair(Math.floor(seconds / 60), 'min', seconds % 60, 's')
  const minutes = Math.round(seconds / 60)
  if (minutes < 2880) return pair(Math.floor(minutes / 60), 'h', minutes % 60, 'min')
  const hours = Math.round(minutes / 60)
  return pair(Math.floor(hours / 24), 'days', hours % 24, 'h')
}

const pair = (first: number, unit: string, rest: number, smaller: string): string =>
  rest === 0 ? `${first} ${unit}` : `${first} ${unit} ${rest} ${smaller}`

/** Money the way bills show it. */
export function cost(usd: number): string {
  if (usd === 0) return '$0'
  if (usd < 0.000005) return '<$0.00001'
  return usd < 0.01 ? `$${usd.toFixed(5)}` : `$${usd.toFixed(2)}`
}

const whole = new Intl.NumberFormat('en-US')

/** A count with its thousands set apart. */
export const count = (value: number): string => whole.format(value)

export const plural = (value: number, word: string, many = `${word}s`): string =>
  `${count(value)} ${value === 1 ? word : many}`

/** A time in a run, in as many digits as the column needs: `0.245 s`, `12.30 s`, `4:05.1`, `2:04:05.3`. */
export function clock(ms: number): string {
  if (ms < 9999.5) return `${(ms / 1000).toFixed(3)} s`
  if (ms < 59_950) return `${(ms / 1000).toFixed(2)} s`
  const two = (value: number): string => String(value).padStart(2, '0')
  const tenths = Math.round(ms / 100)
  const seconds = Math.floor(tenths / 10)
  const [minutes, rest] = [Math.floor(seconds / 60), two(seconds % 60)]
  if (minutes < 60) return `${minutes}:${rest}.${tenths % 10}`
  const hours = Math.floor(minutes / 60)
  return `${hours}:${two(minutes % 60)}:${rest}${hours < 10 ? `.${tenths % 10}` : ''}`
}

/** Today as `09:30:12`, other days with the day, in the zone of the reader. */
export function localTime(epochMs: number, now = new Date()): string {
  const isToday = new Date(epochMs).toDateString() === now.toDateString()
  return isToday ? clockTime(epochMs) : localDateTime(epochMs)
}

/** `2026-11-15 09:30:12`, in the zone of the reader. */
export function localDateTime(epochMs: number): string {
  const then = new Date(epochMs)
  const two = (value: number): string => String(value).padStart(2, '0')
  const day = `${then.getFullYear()}-${two(then.getMonth() + 1)}-${two(then.getDate())}`
  return `${day} ${clockTime(epochMs)}`
}

const clockTime = (epochMs: number): string => new Date(epochMs).toLocaleTimeString('en-GB')
