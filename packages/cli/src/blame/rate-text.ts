import type { Rate } from '@retake/tape'

/** `5 of 6  .42–.99`: failures among forks, and between which bounds the true rate is. */
export function rateText(rate: Rate | undefined): string {
  if (rate === undefined || rate.forks === 0) return 'not tried'
  return `${rate.fails} of ${rate.forks}  ${bound(rate.low)}–${bound(rate.high)}`
}

const bound = (value: number): string =>
  value >= 0.995 ? '1' : value <= 0.005 ? '0' : value.toFixed(2).replace(/^0/, '')

/** How much of it fails, with what is not known about it: `████▒▒░░`. */
export function bar(rate: Rate | undefined, width: number): string {
  if (rate === undefined || rate.forks === 0) return ' '.repeat(width)
  const low = Math.round(rate.low * width)
  const high = Math.max(low, Math.round(rate.high * width))
  return '█'.repeat(low) + '▒'.repeat(high - low) + '·'.repeat(width - high)
}
