import { RetakeError } from '@retake/engine/hook'
import { checkPolicy, problemText, type PolicyProblem } from './check-policy.js'

/** A policy that cannot be used. A guard is not made with one. */
export class PolicyInvalid extends RetakeError {
  override readonly name = 'PolicyInvalid'

  constructor(readonly problems: readonly PolicyProblem[]) {
    super(
      'POLICY_INVALID',
      problems.length === 1
        ? 'The policy cannot be used.'
        : `The policy cannot be used: it has ${problems.length} problems.`,
      'Nothing in a policy is guessed: a rule that means nothing would let through what it should stop.',
      'Correct what is listed.',
      { details: problems.map((problem) => `  ${problemText(problem)}`) },
    )
  }

  /** Checks policies as they are handed to a guard. */
  static throwIfAny(policies: unknown): void {
    if (!Array.isArray(policies))
      throw new PolicyInvalid([{ path: [], message: 'A policy is an object, or a list of them.' }])
    const problems = policies.flatMap((policy: unknown, index) =>
      checkPolicy(policy).map((problem) =>
        policies.length === 1 ? problem : { ...problem, path: [index, ...problem.path] },
      ),
    )
    if (problems.length > 0) throw new PolicyInvalid(problems)
  }
}
