import type { Hit } from './matcher.js'
import type { Matcher } from './matcher.js'
import type { Occurrence } from './occurrence.js'

/** Something on a tape that can hold a value. Its content is read when it is searched. */
export interface Place extends Pick<
  Occurrence,
  'seq' | 'direction' | 'source' | 'name' | 'step' | 'site'
> {
  search(matcher: Matcher): Hit[]
}

/** Searches one place, or two that have to be read together. */
export type Search = (matcher: Matcher) => { readonly place: Place; readonly hit: Hit }[]

export const searchOf =
  (place: Place): Search =>
  (matcher) =>
    place.search(matcher).map((hit) => ({ place, hit }))
