/**
 * What is measured, in the order of the table. `timed`: the ratio is one of
 * times, so a busy machine can spoil it.
 *
 * @type {readonly { name: string, file: string, timed: boolean }[]}
 */
export const groups = [
  { name: 'step', file: 'step.mjs', timed: true },
  { name: 'fetch', file: 'fetch.mjs', timed: true },
  { name: 'privacy', file: 'privacy.mjs', timed: true },
  { name: 'server', file: 'server.mjs', timed: true },
  { name: 'team-server', file: 'team-server.mjs', timed: true },
  { name: 'idle', file: 'idle.mjs', timed: true },
  { name: 'start', file: 'start.mjs', timed: true },
  { name: 'size', file: 'size.mjs', timed: false },
  { name: 'reading', file: 'reading.mjs', timed: true },
  { name: 'runs', file: 'runs.mjs', timed: true },
  { name: 'replay', file: 'replay.mjs', timed: true },
  { name: 'jump', file: 'jump.mjs', timed: true },
  { name: 'continue', file: 'continue.mjs', timed: true },
  { name: 'proxy', file: 'proxy.mjs', timed: true },
  { name: 'viewer', file: 'viewer.mjs', timed: true },
  { name: 'guard', file: 'guard.mjs', timed: true },
  { name: 'edits', file: 'edits.mjs', timed: false },
  { name: 'blame', file: 'blame.mjs', timed: true },
  { name: 'blame-models', file: 'blame-models.mjs', timed: false },
  { name: 'crash', file: 'crash.mjs', timed: false },
  { name: 'cycles', file: 'cycles.mjs', timed: false },
  { name: 'peers', file: 'peer-comparison.mjs', timed: true },
]
