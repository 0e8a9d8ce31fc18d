/**
 * Where two outputs part, for a person to read; undefined when they are equal.
 *
 * @param {string} recorded
 * @param {string} replayed
 * @returns {string | undefined}
 */
export function firstDifference(recorded, replayed) {
  if (recorded === replayed) return undefined
  const left = recorded.split('\n')
  const right = replayed.split('\n')
  const at = left.findIndex((line, index) => line !== right[index])
  const index = at === -1 ? left.length : at
  return [
    `line ${index + 1} of ${left.length} differs`,
    `  recorded: ${left[index] ?? '(end)'}`,
    `  replayed: ${right[index] ?? '(end)'}`,
  ].join('\n')
}
