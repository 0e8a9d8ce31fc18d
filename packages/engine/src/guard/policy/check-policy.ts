/** Something wrong in a policy, and where in its data. */
export interface PolicyProblem {
  readonly path: readonly (string | number)[]
  readonly message: string
}

/** Everything that is wrong with a policy as data; nothing when it can be used. */
export function checkPolicy(data: unknown): PolicyProblem[] {
  return typeof data === 'object' && data !== null
    ? []
    : [{ path: [], message: 'A policy is an object.' }]
}
