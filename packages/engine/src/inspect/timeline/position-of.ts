import type { Stop } from '../stop.js'
import type { Moment } from './moments.js'
import type { StoppedPosition, Watched } from './position.js'

export function positionOf(
  moment: Moment,
  { isDirect, location, frames, asyncFrames }: Stop,
  watches: readonly Watched[],
): StoppedPosition {
  return {
    kind: 'stop',
    moment,
    isDirect,
    location,
    locals: frames.find(({ isUser }) => isUser)?.variables ?? [],
    stack: [
      ...frames.map(({ name, location: at, isUser }) => ({
        name,
        location: at,
        isUser,
        isAsync: false,
      })),
      ...asyncFrames.map((line) => ({ ...line, isAsync: true })),
    ],
    watches,
  }
}
