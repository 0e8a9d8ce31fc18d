import {
  type ArgumentDrift,
  clipText,
  type Drift,
  driftText,
  keyPathText,
} from '@retake/tape/format'
import { denialTable } from '../guard-error.js'
import type { SchemaIssue, UnusableSchema } from './check-schema.js'

/** Number of issues in an error, and length of each. */
const NAMED = 5
const LONGEST = 200

export const contractErrors = denialTable({
  INPUT_INVALID: (tool: string, issues: readonly SchemaIssue[], shape: string | undefined) => [
    'contract/input',
    `The arguments of "${tool}" do not match its input schema.`,
    `${listed(issues.map(({ path, message }) => `${keyPathText(path) || 'arguments'}: ${message}`))}.`,
    shape === undefined
      ? 'Pass arguments that match the input schema of the tool.'
      : `Pass arguments of the form ${shape}.`,
  ],
  CONTRACT_DRIFT: (tool: string, drift: readonly Drift[]) => [
    'contract/output',
    `Tool "${tool}" ran, but its result does not match its contract.`,
    `${listed(drift.map(driftText))}.`,
    'Correct the tool or its contract. With onDrift: "warn", such results are recorded and returned.',
  ],
  JSON_SCHEMA_UNUSABLE: (tool: string, { because, why }: UnusableSchema) => [
    'contract/schema',
    `The schema of tool "${tool}" cannot be used.`,
    why,
    because === 'no compiler'
      ? 'Import guard from "retake", or pass a compiler to useJsonSchema() of "@retake/guard". Schemas of zod, valibot and arktype need none.'
      : 'Correct the JSON Schema.',
  ],
  CONTRACT_INVALID: (tool: string, why: string) => [
    'contract/output',
    `The output contract of tool "${tool}" cannot be used.`,
    why,
    'Use a schema, or { kind: "json" | "text" | "binary" | "nothing", schema, onDrift: "warn" | "block" }.',
  ],
  ARGUMENT_DRIFT: (tool: string, { score, reasons, calls }: ArgumentDrift, over: number) => [
    'contract/arguments',
    `The arguments of "${tool}" differ from those of ${calls} earlier calls: the score is ${score}, the limit is ${over}.`,
    `${listed(reasons.map(({ path, what, weight }) => `${path || 'arguments'} (${weight}): ${what}`))}.`,
    `Use arguments that are more like those of earlier calls, with a score of at most ${over}.`,
  ],
  BASELINE_INVALID: (why: string) => [
    'contract/arguments',
    'The baseline cannot be used.',
    why,
    'Pass the result of baselineFrom(tapes), or its JSON.',
  ],
})

function listed(texts: readonly string[]): string {
  const named = texts
    .slice(0, NAMED)
    .map((text) => clipText(text.replace(/\s+/g, ' ').replace(/\.$/, ''), LONGEST))
  const more = texts.length - named.length
  return more > 0 ? `${named.join('; ')}; and ${more} more` : named.join('; ')
}
