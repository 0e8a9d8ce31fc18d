import { clampRate } from '@retake/tape/present'

const WIDTH = 104
const HEIGHT = 14
const xOf = (value: number): number => 4 + clampRate(value) * (WIDTH - 8)

interface RateBarProps {
  /** Missing if nothing was counted. Then only the scale is drawn. */
  readonly share?: number
  readonly interval?: { readonly low: number; readonly high: number }
}

/** A share from 0 to 1 with its interval. Hidden from screen readers, because the figures are next to it. */
export const RateBar = ({ share, interval }: RateBarProps) => (
  <svg
    viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
    width={WIDTH}
    height={HEIGHT}
    aria-hidden="true"
    className="shrink-0"
  >
    <path d={`M${xOf(0)} 7H${xOf(1)}`} stroke="var(--line)" />
    {[0, 0.5, 1].map((tick) => (
      <path key={tick} d={`M${xOf(tick)} 4V10`} stroke="var(--line-strong)" />
    ))}
    {interval !== undefined && (
      <path
        d={`M${xOf(interval.low)} 4V10M${xOf(interval.low)} 7H${xOf(interval.high)}M${xOf(interval.high)} 4V10`}
        stroke="currentColor"
        strokeWidth="1.5"
      />
    )}
    {share !== undefined && <circle cx={xOf(share)} cy="7" r="3.2" fill="currentColor" />}
  </svg>
)
