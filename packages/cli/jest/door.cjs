/** What `retake/jest-environment` has put into the realm of this test file. */
const door = globalThis[Symbol.for('retake.jest')]
if (door === undefined) {
  throw new Error(
    [
      'Retake needs its own Jest environment.',
      '  why  Jest gives every test file its own clock and chance, which can only be reached from there.',
      "  fix  Set testEnvironment: 'retake/jest-environment' in the configuration of Jest.",
      '  code JEST_ENVIRONMENT_MISSING',
    ].join('\n'),
  )
}
module.exports = door
