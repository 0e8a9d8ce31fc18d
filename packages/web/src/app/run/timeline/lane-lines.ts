import { laneName } from '../lane-name.js'
import type { LaneHead } from '../../../model/run-head.js'

/** One line of the timeline. */
export interface LaneLine {
  readonly lane: number
  readonly depth: number
  readonly name: string
}

/**
 * The lines of the timeline: each lane under the one it came from, in the order they
 * began. Lanes that rows name and the head does not know yet stand at the end.
 */
export function laneLines(lanes: readonly LaneHead[], seen: Iterable<number>): LaneLine[] {
  const known = new Map(lanes.map((lane) => [lane.id, lane]))
  const children = new Map<number | undefined, LaneHead[]>()
  for (const lane of lanes) {
    const parent =
      lane.parent !== undefined && known.has(lane.parent) && lane.parent !== lane.id
        ? lane.parent
        : undefined
    const siblings = children.get(parent)
    if (siblings === undefined) children.set(parent, [lane])
    else siblings.push(lane)
  }
  const lines: LaneLine[] = []
  const open = (children.get(undefined) ?? []).toReversed()
  const placed = new Set<number>()
  for (let lane = open.pop(); lane !== undefined; lane = open.pop()) {
    if (placed.has(lane.id)) continue
    placed.add(lane.id)
    lines.push({ lane: lane.id, depth: lane.depth, name: laneName(lane.id, lane.name) })
    open.push(...(children.get(lane.id) ?? []).toReversed())
  }
  const left = [...known.keys(), ...new Set(seen)].filter((id) => !placed.has(id))
  for (const id of new Set(left)) lines.push({ lane: id, depth: 0, name: laneName(id, undefined) })
  return lines
}
