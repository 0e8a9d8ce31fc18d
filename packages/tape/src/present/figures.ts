/** Milliseconds as text: `0.4 ms`, `38 ms`, `1.2 s`, `3 min 4 s`, `2 h 5 min`. */
export function duration(ms: number): string {
  if (ms <= 0) return '0 ms'
  if (ms < 1) return `${Number(ms.toPrecision(2))} ms`
  if (ms < 100) return `${Math.round(ms)} ms`
  if (ms < 9950) return `${(ms / 1000).toFixed(ms < 995 ? 2 : 1)} s`
  if (ms < 59_500) return `${Math.round(ms / 1000)} s`
  const seconds = Math.round(ms / 1000)
  if (seconds < 3600) return twoUnits(seconds, 60, 'min', 's')
  const minutes = Math.round(seconds / 60)
  if (minutes < 2880) return twoUnits(minutes, 60, 'h', 'min')
  return twoUnits(Math.round(minutes / 60), 24, 'days', 'h')
}

function twoUnits(total: number, size: number, unit: string, smaller: string): string {
  const rest = total % size
  return `${Math.floor(total / size)} ${unit}${rest === 0 ? '' : ` ${rest} ${smaller}`}`
}

/** A time within a run, with enough digits for a column: `0.245 s`, `12.30 s`, `4:05.1`, `2:04:05.3`. */
export function clock(ms: number): string {
  if (ms < 9999.5) return `${(ms / 1000).toFixed(3)} s`
  if (ms < 59_950) return `${(ms / 1000).toFixed(2)} s`
  const tenths = Math.round(ms / 100)
  const seconds = Math.floor(tenths / 10)
  const [minutes, rest] = [Math.floor(seconds / 60), twoDigits(seconds % 60)]
  if (minutes < 60) return `${minutes}:${rest}.${tenths % 10}`
  const hours = Math.floor(minutes / 60)
  return `${hours}:${twoDigits(minutes % 60)}:${rest}${hours < 10 ? `.${tenths % 10}` : ''}`
}

const twoDigits = (value: number): string => String(value).padStart(2, '0')

/** An amount of money; empty if unknown. A positive amount is never shown as $0. */
export function cost(usd: number | undefined): string {
  if (usd === undefined) return ''
  if (usd === 0) return '$0'
  if (usd < 0.000005) return '<$0.00001'
  return usd < 0.01 ? `$${usd.toFixed(5)}` : `$${usd.toFixed(2)}`
}

/** A count with thousands separators. Does not use `Intl`, whose first use takes 10 ms or more. */
export const count = (value: number): string => String(value).replaceAll(/\B(?=(?:\d{3})+$)/g, ',')

const SIZE_UNITS = ['B', 'KB', 'MB', 'GB', 'TB'] as const

/** A size with decimal units: `312 B`, `4.1 KB`, `2.0 MB`. */
export function bytesText(bytes: number): string {
  let [amount, unit] = [bytes, 0]
  // Not 1000: 999.95 would be shown as 1000.0.
  while (amount >= 999.95 && unit < SIZE_UNITS.length - 1) {
    amount /= 1000
    unit++
  }
  return `${unit === 0 ? amount : amount.toFixed(1)} ${SIZE_UNITS[unit]}`
}

/** Bytes of a size such as `500MB` or `1.5 GB`; undefined if it is not one. */
export function parseSize(text: unknown): number | undefined {
  const [, amount, unit = ''] = /^(\d+(?:\.\d+)?) ?([KMGT]?B)$/i.exec(String(text)) ?? []
  if (amount === undefined) return undefined
  const power = SIZE_UNITS.findIndex((each) => each === unit.toUpperCase())
  return Math.floor(Number(amount) * 1000 ** power)
}

export const plural = (value: number, word: string, many = `${word}s`): string =>
  `${count(value)} ${value === 1 ? word : many}`

/** Says that a past run is shown with its own code, because today's differs. */
export const changedCodeText = (files: number): string =>
  `${plural(files, 'file')} changed since this run; showing the recorded code`

/** Local time, short enough for a table: `09:30:12` today, `11-14 09:30` this year, `2025-11-14` before. */
export function localTime(epochMs: number, now = new Date()): string {
  const date = new Date(epochMs)
  const [day, time] = localDateTime(epochMs).split(' ') as [string, string]
  if (date.toDateString() === now.toDateString()) return time
  return date.getFullYear() === now.getFullYear() ? `${day.slice(5)} ${time.slice(0, 5)}` : day
}

/** `2026-11-15 09:30:12`, in the reader's time zone. */
export function localDateTime(epochMs: number): string {
  const date = new Date(epochMs)
  const day = [date.getFullYear(), date.getMonth() + 1, date.getDate()].map(twoDigits).join('-')
  const time = [date.getHours(), date.getMinutes(), date.getSeconds()].map(twoDigits).join(':')
  return `${day} ${time}`
}

const AGO = [
  { ms: 86_400_000, unit: 'd' },
  { ms: 3_600_000, unit: 'h' },
  { ms: 60_000, unit: 'min' },
] as const

/** Time since a moment, in one unit; the date if it was more than four weeks ago. */
export function relativeTime(at: number, now: number): string {
  const ago = now - at
  if (ago > 28 * 86_400_000 || ago < -60_000) return localDateTime(at).slice(0, 10)
  const unit = AGO.find(({ ms }) => ago >= ms)
  return unit === undefined ? 'just now' : `${Math.floor(ago / unit.ms)} ${unit.unit} ago`
}
