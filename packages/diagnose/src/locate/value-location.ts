import type { Hit } from './matcher.js'
import type { Matcher } from './matcher.js'
import type { Occurrence } from './occurrence.js'

/** Something on a tape that can hold a value. Its content is read when it is searched. */
export interface ValueLocation extends Pick<
  Occurrence,
  'seq' | 'direction' | 'source' | 'name' | 'step' | 'site'
> {
  search(matcher: Matcher): Hit[]
}

/** Searches one location, or two that have to be read together. */
export type Search = (matcher: Matcher) => { readonly location: ValueLocation; readonly hit: Hit }[]

export const searchOf =
  (location: ValueLocation): Search =>
  (matcher) =>
    location.search(matcher).map((hit) => ({ location, hit }))
