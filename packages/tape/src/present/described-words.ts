/**
 * Descriptions of values that JSON cannot express, or that a limit cut, by the `$type` they were
 * captured under. Shared by the command line and the viewer.
 */
export const DESCRIBED_WORDS: Readonly<
  Record<string, (rest: Readonly<Record<string, unknown>>) => string>
> = {
  undefined: () => 'undefined',
  unavailable: () => '(not initialised yet)',
  getter: () => '(getter)',
  circular: () => '(circular)',
  Proxy: () => '(proxy)',
  Promise: () => 'Promise',
  cut: ({ of }) => (of === 'object' ? '{…}' : of === 'array' ? '[…]' : `(${String(of)})`),
  function: ({ name }) => `function ${String(name)}`.trimEnd(),
  bigint: ({ value }) => `${String(value)}n`,
  number: ({ value }) => String(value),
  symbol: ({ value }) => String(value),
  Date: ({ value }) => String(value),
  RegExp: ({ value }) => String(value),
}
