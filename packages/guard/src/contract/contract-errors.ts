import { type ArgumentDrift, clipText, type Drift, driftText } from '@retake/tape/format'
import type { Denial } from '../guard-error.js'
import type { SchemaIssue, UnusableSchema } from './check-schema.js'

const NAME = /^[\p{L}_$][\p{L}\p{N}_$-]*$/u

/** A path such as `items[0].price`; empty for the whole value. */
export function issuePathText(path: readonly PropertyKey[]): string {
  let text = ''
  for (const key of path) {
    if (typeof key === 'number') text += `[${key}]`
    else if (typeof key === 'string' && !NAME.test(key)) text += `[${JSON.stringify(key)}]`
    else text += text === '' ? String(key) : `.${String(key)}`
  }
  return text
}

/** Number of issues in an error, and length of each. */
const NAMED = 5
const LONGEST = 200

export const contractErrors = {
  inputInvalid: (
    tool: string,
    issues: readonly SchemaIssue[],
    shape: string | undefined,
  ): Denial => ({
    code: 'INPUT_INVALID',
    rule: 'contract/input',
    what: `The arguments of "${tool}" do not match its input schema.`,
    why: `${listed(issues.map(({ path, message }) => `${issuePathText(path) || 'arguments'}: ${message}`))}.`,
    allowed:
      shape === undefined
        ? 'Pass arguments that match the input schema of the tool.'
        : `Pass arguments of the form ${shape}.`,
  }),
  contractDrift: (tool: string, drift: readonly Drift[]): Denial => ({
    code: 'CONTRACT_DRIFT',
    rule: 'contract/output',
    what: `Tool "${tool}" ran, but its result does not match its contract.`,
    why: `${listed(drift.map(driftText))}.`,
    allowed:
      'Correct the tool or its contract. With onDrift: "warn", such results are recorded and returned.',
  }),
  jsonSchemaUnreadable: (tool: string, { because, why }: UnusableSchema): Denial => ({
    code: 'JSON_SCHEMA_UNUSABLE',
    rule: 'contract/schema',
    what: `The schema of tool "${tool}" cannot be used.`,
    why,
    allowed:
      because === 'no compiler'
        ? 'Import guard from "retake", or pass a compiler to useJsonSchema() of "@retake/guard". Schemas of zod, valibot and arktype need none.'
        : 'Correct the JSON Schema.',
  }),
  contractInvalid: (tool: string, why: string): Denial => ({
    code: 'CONTRACT_INVALID',
    rule: 'contract/output',
    what: `The output contract of tool "${tool}" cannot be used.`,
    why,
    allowed:
      'Use a schema, or { kind: "json" | "text" | "binary" | "nothing", schema, onDrift: "warn" | "block" }.',
  }),
  argumentDrift: (
    tool: string,
    { score, reasons, calls }: ArgumentDrift,
    over: number,
  ): Denial => ({
    code: 'ARGUMENT_DRIFT',
    rule: 'contract/arguments',
    what: `The arguments of "${tool}" differ from those of ${calls} earlier calls: ${score} points, over ${over}.`,
    why: `${listed(reasons.map(({ path, what, weight }) => `${path || 'arguments'} (${weight}): ${what}`))}.`,
    allowed: `Use arguments like those of earlier calls, up to ${over} points.`,
  }),
  baselineInvalid: (why: string): Denial => ({
    code: 'BASELINE_INVALID',
    rule: 'contract/arguments',
    what: 'The baseline cannot be used.',
    why,
    allowed: 'Pass the result of baselineFrom(tapes), or its JSON.',
  }),
}

function listed(texts: readonly string[]): string {
  const named = texts
    .slice(0, NAMED)
    .map((text) => clipText(text.replace(/\s+/g, ' ').replace(/\.$/, ''), LONGEST))
  const more = texts.length - named.length
  return more > 0 ? `${named.join('; ')}; and ${more} more` : named.join('; ')
}
