import {
  type ArgumentDrift,
  clipText,
  type Drift,
  driftText,
  keyPathText,
} from '@retake/tape/format'
import { type Denial, denialTable } from '../guard-error.js'
import type { GuardedToolOptions } from '../guarded-tool.js'
import { DataCheck, type FieldRules, problemText } from '../policy/data-check.js'
import { type SchemaIssue, unusable, type UnusableSchema } from './check-schema.js'

const CONTRACT: FieldRules = {
  kind: ['json', 'text', 'binary', 'nothing'],
  schema: 'any',
  onDrift: ['warn', 'block'],
}

/** Accepts a contract, or only a schema. */
export function contractOf(output: Schema | Contract): Contract {
  const isContract =
    !('~standard' in output) && Object.keys(CONTRACT).some((field) => field in output)
  return isContract ? output : { schema: output as Schema }
}

/** Problems in the schemas of a tool, reported before it starts. */
export function brokenContract(
  tool: string,
  { input, output }: Pick<GuardedToolOptions<never>, 'input' | 'output'>,
): Denial | undefined {
  const contract = output && contractOf(output)
  const check = new DataCheck()
  if (contract !== undefined) check.fields([], contract, 'A contract', CONTRACT)
  const [problem] = check.problems
  if (problem !== undefined) return contractErrors.CONTRACT_INVALID(tool, problemText(problem))
  for (const schema of [input, contract?.schema]) {
    const why = schema && unusable(schema)
    if (why) return contractErrors.JSON_SCHEMA_UNUSABLE(tool, why)
  }
  return undefined
}

/** The part of Standard Schema that is used. */
export interface StandardSchema<Input = unknown, Output = unknown> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    /** For the compiler only. */
    readonly types?: { readonly input: Input; readonly output: Output } | undefined
    readonly validate: (value: unknown) => StandardResult | Promise<StandardResult>
  }
}

export type StandardResult =
  | { readonly value: unknown; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] }

export interface StandardIssue {
  readonly message: string
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}

/** A Standard Schema, or a JSON Schema as data. */
export type Schema = StandardSchema | Readonly<Record<string, unknown>>

/** Kind of a result, regardless of its fields. */
export type OutputKind = 'json' | 'text' | 'binary' | 'nothing'

/** The promise about a result. The caller gets what the tool returned, but JSON text is parsed. */
export interface Contract {
  readonly kind?: OutputKind
  readonly schema?: Schema
  /** Drift is recorded (`warn`), or the result is withheld (`block`, default). */
  readonly onDrift?: 'warn' | 'block'
}

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
