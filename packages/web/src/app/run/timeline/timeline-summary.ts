import { duration, plural } from '@retake/tape/present'
import type { Run } from '../use-run.js'
import type { Heat } from './heat.js'
import type { TimelineData } from './timeline-data.js'

/** The timeline in a sentence, for those who do not see it. */
export function timelineSummary(
  { head, rows }: Run,
  { lines, scale }: TimelineData,
  heat?: Heat,
): string {
  return [
    `${plural(rows.length, 'step')} in ${plural(lines.length, 'lane')} over ${duration(head.durationMs)}`,
    ...(lines.length > 1
      ? [
          `lanes: ${lines
            .slice(0, 20)
            .map(({ name }) => name)
            .join(', ')}`,
        ]
      : []),
    ...(scale.gaps.length > 0
      ? [`${plural(scale.gaps.length, 'pause')} without a step, drawn short`]
      : []),
    ...(heat === undefined ? [] : [heatText(heat, rows)]),
  ].join('; ')
}

/** Causes are few; what they have touched may be much. */
function heatText({ places, roleAt }: Heat, rows: Run['rows']): string {
  const named = Array.from(places.subarray(0, 20), (place) => {
    const role = roleAt(place)
    return `step ${rows.at(place).label} ${role}`
  })
  const more = places.length > 20 ? [`and ${plural(places.length - 20, 'other')}`] : []
  return `blame: ${[...named, ...more].join(', ') || 'no step is marked'}`
}
