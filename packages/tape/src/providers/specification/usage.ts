/**
 * Tokens of one exchange by billing class. `input`, `cachedInput` and `cacheWrite` do not overlap;
 * `reasoning` is part of `output` and shown separately.
 */
export interface Usage {
  readonly input: number
  readonly cachedInput: number
  readonly cacheWrite: number
  /** The part of `cacheWrite` that is cached for an hour and costs more. */
  readonly cacheWriteLong: number
  readonly output: number
  readonly reasoning: number
  /** Everything else that is billed and has no token price here: searches, audio, a service tier. */
  readonly unpriced: readonly string[]
  /** Set if the provider's numbers are inconsistent; they are shown unchanged. */
  readonly mismatch?: string
}

export const NO_USAGE: Usage = {
  input: 0,
  cachedInput: 0,
  cacheWrite: 0,
  cacheWriteLong: 0,
  output: 0,
  reasoning: 0,
  unpriced: [],
}

/** The sum over exchanges; each mismatch is listed once. */
export const addUsage = (left: Usage, right: Usage): Usage => {
  const unpriced = [...new Set([...left.unpriced, ...right.unpriced])]
  const mismatches = new Set([left.mismatch, right.mismatch].filter((text) => text !== undefined))
  return {
    input: left.input + right.input,
    cachedInput: left.cachedInput + right.cachedInput,
    cacheWrite: left.cacheWrite + right.cacheWrite,
    cacheWriteLong: left.cacheWriteLong + right.cacheWriteLong,
    output: left.output + right.output,
    reasoning: left.reasoning + right.reasoning,
    unpriced,
    ...(mismatches.size > 0 && { mismatch: [...mismatches].join('; ') }),
  }
}

interface CountedInsideInput {
  /** All input tokens, cached ones included. */
  readonly allInput: number
  readonly cachedInput: number
  readonly cacheWrite: number
  readonly output: number
  readonly reasoning: number
  readonly total: number | undefined
  readonly unpriced: readonly string[]
}

/** Usage from a provider whose input count includes the cached tokens. */
export const usageFromTotals = (given: CountedInsideInput): Usage => {
  const { allInput, cachedInput, cacheWrite, output, reasoning, total, unpriced } = given
  const problems: string[] = []
  if (cachedInput + cacheWrite > allInput) {
    problems.push(`${cachedInput + cacheWrite} cached of ${allInput} input tokens`)
  }
  if (reasoning > output) problems.push(`${reasoning} reasoning of ${output} output tokens`)
  if (total !== undefined && total !== allInput + output) {
    problems.push(`a total of ${total} where input and output make ${allInput + output}`)
  }
  return {
    input: Math.max(0, allInput - cachedInput - cacheWrite),
    cachedInput,
    cacheWrite,
    cacheWriteLong: 0,
    output,
    reasoning,
    unpriced,
    ...(problems.length > 0 && { mismatch: problems.join('; ') }),
  }
}
