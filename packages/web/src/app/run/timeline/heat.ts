import type { BlameView } from '../../blame/blame-view.js'
import { isSeen, SEEN_ROLES, type SeenRole } from '../../blame/role-shapes.js'
import type { TimelineData } from './timeline-data.js'
import type { RowStore } from '../row-store.js'

/** Which rows had something to do with the failure, made once, so that drawing looks at these alone. */
export interface Heat {
  /** Places in the list, by role, the worst first. */
  readonly places: Int32Array
  /** By index in `places`: number of the role among those that are seen. */
  readonly roles: Uint8Array
  /** The roles that there are, the worst first. */
  readonly seen: readonly SeenRole[]
  readonly roleAt: (place: number) => SeenRole | undefined
}

/** Undefined where no step had anything to do with it, as far as is known. */
export function heatOf(view: BlameView, rows: RowStore): Heat | undefined {
  const found: { place: number; role: number }[] = []
  for (const { label, role } of view.findings.steps) {
    if (!isSeen(role)) continue
    // A run that is read still has not all its rows, and one that was recorded anew has others.
    const place = rows.placeOf(label)
    if (place >= 0) found.push({ place, role: SEEN_ROLES.indexOf(role) })
  }
  if (found.length === 0) return undefined
  found.sort((a, b) => a.role - b.role || a.place - b.place)
  const byPlace = new Map(found.map(({ place, role }) => [place, role]))
  return {
    places: Int32Array.from(found, ({ place }) => place),
    roles: Uint8Array.from(found, ({ role }) => role),
    seen: SEEN_ROLES.filter((_, number) => found.some(({ role }) => role === number)),
    roleAt: (place) => SEEN_ROLES[byPlace.get(place) ?? -1],
  }
}

/** Half of a mark, and a little for the hand. */
const NEAR = 8

/** The row whose mark is so many pixels from the left, of several the worst; -1 for none. */
export function markNear(
  { places }: Heat,
  { from, count }: TimelineData,
  { x, xOf }: { readonly x: number; readonly xOf: (drawn: number) => number },
): number {
  let [best, distance] = [-1, NEAR]
  for (const place of places) {
    const away = place < count ? Math.abs(xOf(from[place] ?? 0) - x) : NEAR
    if (away < distance) [best, distance] = [place, away]
  }
  return best
}
