/** Which features a ranker may look at. Place and role read no text. */
const PLACE = new Set([
  'atStart',
  'second',
  'third',
  'logPosition',
  'fromStart',
  'fromStartSquared',
  'atEnd',
  'nextToEnd',
  'firstActing',
  'secondActing',
  'thirdActing',
  'lastActing',
])
const ROLE = new Set([
  'isTask',
  'isPlan',
  'isInstruction',
  'isEnvironment',
  'speakerIsNew',
  'speakerEnds',
  'speakerShare',
  'sameSpeaker',
])

/** @param {readonly string[]} names of all features @returns {Record<string, string[]>} */
export const featureSets = (names) => ({
  'position only': names.filter((name) => PLACE.has(name)),
  'position and role': names.filter((name) => PLACE.has(name) || ROLE.has(name)),
  'content and role': names.filter((name) => !PLACE.has(name)),
  'all features': [...names],
})
