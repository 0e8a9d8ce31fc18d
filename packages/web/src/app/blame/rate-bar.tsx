import type { Rate } from '@retake/tape'
import { clampRate, intervalText, failuresText } from '@retake/tape/present'
import { classes } from '../design/classes.js'

const WIDTH = 104
const HEIGHT = 14
const xOf = (value: number): number => 4 + clampRate(value) * (WIDTH - 8)

/** A rate as a dot and its interval as a whisker, between 0 and 100 %. The numbers stand beside it. */
export function RateBar({ rate, className }: { readonly rate: Rate; readonly className?: string }) {
  const { fails, forks, low, high } = rate
  return (
    <svg
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      width={WIDTH}
      height={HEIGHT}
      aria-hidden="true"
      className={classes('shrink-0', className)}
    >
      <path d={`M${xOf(0)} 7H${xOf(1)}`} stroke="var(--line)" />
      {[0, 0.5, 1].map((tick) => (
        <path key={tick} d={`M${xOf(tick)} 4V10`} stroke="var(--line-strong)" />
      ))}
      {forks > 0 && (
        <>
          <path
            d={`M${xOf(low)} 4V10M${xOf(low)} 7H${xOf(high)}M${xOf(high)} 4V10`}
            stroke="currentColor"
            strokeWidth="1.5"
          />
          <circle cx={xOf(fails / forks)} cy="7" r="3.2" fill="currentColor" />
        </>
      )}
    </svg>
  )
}

/** A rate in a line: dot and whisker, counts, and the interval. */
export function RateLine({
  rate,
  className,
}: {
  readonly rate: Rate
  readonly className?: string
}) {
  return (
    <span
      className={classes('inline-flex flex-wrap items-center gap-x-2 whitespace-nowrap', className)}
    >
      <RateBar rate={rate} />
      <span className="min-w-24">{failuresText(rate)}</span>
      {rate.forks > 0 && (
        <span data-interval className="min-w-16 text-muted" title="95 %, whenever it was stopped">
          {intervalText(rate)}
        </span>
      )}
    </span>
  )
}
