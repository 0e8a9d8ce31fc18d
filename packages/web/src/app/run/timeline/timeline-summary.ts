import { duration, plural } from '../../design/figures.js'
import type { Run } from '../use-run.js'
import type { TimelineData } from './timeline-data.js'

/** The timeline in a sentence, for those who do not see it. */
export function timelineSummary({ head, rows }: Run, { lines, scale }: TimelineData): string {
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
  ].join('; ')
}
