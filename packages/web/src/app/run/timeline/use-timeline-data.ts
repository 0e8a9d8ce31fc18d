import { useEffect, useMemo, useState } from 'react'
import type { Run } from '../use-run.js'
import { useRows } from '../use-run.js'
import { timelineData, type TimelineData } from './timeline-data.js'

const PAUSE_MS = 400

/** Where everything is drawn. While rows are read it is made anew now and then only. */
export function useTimelineData({ rows, head }: Run): TimelineData {
  const version = useRows(rows)
  const [drawn, setDrawn] = useState(version)
  const isWaiting = !rows.isComplete && drawn !== version
  useEffect(() => {
    if (!isWaiting) return
    // The more rows there are, the longer it takes, and the less a few more of them change.
    const pause = Math.max(PAUSE_MS, rows.length / 40)
    const timer = setTimeout(() => setDrawn(rows.version), pause)
    return () => clearTimeout(timer)
  }, [isWaiting, rows])
  const stamp = rows.isComplete ? version : drawn
  // oxlint-disable-next-line react/exhaustive-deps -- the stamp says when rows have changed
  return useMemo(() => timelineData(rows, head), [rows, head, stamp])
}
