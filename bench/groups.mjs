/**
 * What is measured, in the order of the table. `timed`: the ratio is one of
 * times, so a busy machine can spoil it.
 *
 * @type {readonly { name: string, file: string, timed: boolean, nodeArgs?: readonly string[] }[]}
 */
export const groups = [
  { name: 'step', file: 'step.mjs', timed: true },
  { name: 'fetch', file: 'fetch.mjs', timed: true },
]
