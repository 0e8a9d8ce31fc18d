import type { DayActivity } from '../../runs/team-runs.js'

/** The share of successful runs, as an image. It contains no user-supplied text. */
export function badgeImage(days: readonly DayActivity[]): string {
  const runs = days.reduce((sum, day) => sum + day.runs, 0)
  const failed = days.reduce((sum, day) => sum + day.failed, 0)
  const share = runs === 0 ? undefined : Math.floor(((runs - failed) / runs) * 100)
  const value = share === undefined ? 'no runs' : `${share} % of ${runs} done`
  const colour =
    share === undefined ? '#535b65' : share >= 95 ? '#18653a' : share >= 80 ? '#804d00' : '#ac231b'
  const [left, right] = [46, 16 + value.length * 6.4]
  const width = left + right
  return `<svg
    xmlns="http://www.w3.org/2000/svg"
    width="${width}"
    height="20"
    role="img"
    aria-label="retake: ${value}"
  >
    <title>retake: ${value}</title>
    <rect width="${width}" height="20" rx="3" fill="#353b43" />
    <path d="M${left} 0H${width - 3}a3 3 0 0 1 3 3V17a3 3 0 0 1-3 3H${left}z" fill="${colour}" />
    <g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">
      <text x="7" y="14">retake</text>
      <text x="${left + 8}" y="14">${value}</text>
    </g>
  </svg>`
}
