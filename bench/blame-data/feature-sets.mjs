/** Which features a ranker may look at. Place and role read no text. */
const PLACE = [
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
]
const ROLE = [
  'isTask',
  'isPlan',
  'isInstruction',
  'isEnvironment',
  'speakerIsNew',
  'speakerEnds',
  'speakerShare',
  'sameSpeaker',
]

/** @param {readonly string[]} names of all features @returns {Record<string, string[]>} */
export const featureSets = (names) => ({
  'position only': PLACE,
  'position and role': [...PLACE, ...ROLE],
  'content and role': names.filter((name) => !PLACE.includes(name)),
  'all features': [...names],
})
