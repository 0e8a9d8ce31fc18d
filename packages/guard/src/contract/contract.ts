import { type ArgumentDrift, type Drift, driftText } from '@retake/tape/guards'
import { clipText, keyPathText } from '@retake/tape/format'
import { type Denial, denialTable } from '../denials/guard-error.js'
import type { GuardedToolOptions } from './guarded-tool.js'
import {
  anything,
  DataCheck,
  objectOf,
  oneWord,
  problemText,
  type TypeOf,
  type TypeOfFields,
} from '@retake/engine/schema'
import { type SchemaIssue, schemaProblem } from './check-schema.js'

const outputKind = oneWord('json', 'text', 'binary', 'nothing')
export type OutputKind = TypeOf<typeof outputKind>

const CONTRACT = {
  /** Kind of the result, whatever its fields are. */
  kind: outputKind,
  schema: anything<Schema>(),
  /** `warn` records drift and returns the result; `block` (default) fails the call. */
  onDrift: oneWord('warn', 'block'),
}

/** The result that a tool promises. Callers get the returned value, with JSON text parsed. */
export type Contract = TypeOfFields<typeof CONTRACT>

/** Converts a plain schema to a contract. */
export function contractOf(output: Schema | Contract): Contract {
  const isContract =
    !('~standard' in output) && Object.keys(CONTRACT).some((field) => field in output)
  return isContract ? output : { schema: output }
}

/** Denies a call whose tool has an invalid schema, before it starts. */
export function brokenContract(
  tool: string,
  { input, output }: Pick<GuardedToolOptions<never>, 'input' | 'output'>,
): Denial | undefined {
  const contract = output && contractOf(output)
  const check = new DataCheck()
  if (contract !== undefined) objectOf(CONTRACT, 'A contract')(check, [], contract)
  const [problem] = check.problems
  if (problem !== undefined) return contractErrors.CONTRACT_INVALID(tool, problemText(problem))
  for (const schema of [input, contract?.schema]) {
    const why = schema && schemaProblem(schema)
    if (why)
      return why.because === 'no compiler'
        ? contractErrors.JSON_SCHEMA_COMPILER_MISSING(tool)
        : contractErrors.JSON_SCHEMA_UNUSABLE(tool, why.why)
  }
  return undefined
}

/** The part of Standard Schema that is used. */
export interface StandardSchema<Input = unknown, Output = unknown> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    /** Used only by TypeScript. */
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

/** Number of issues quoted in an error, and the length of each. */
const ISSUES_MAX = 5
const ISSUE_LENGTH_MAX = 200

export const contractErrors = denialTable({
  INPUT_INVALID: (
    tool: string,
    issues: readonly SchemaIssue[],
    shape = 'that its input schema describes',
  ) => [
    'contract/input',
    `The arguments of "${tool}" do not match its input schema.`,
    `${listed(issues.map(({ path, message }) => `${keyPathText(path) || 'arguments'}: ${message}`))}.`,
    `Pass arguments of the form ${shape}.`,
  ],
  CONTRACT_DRIFT: (tool: string, drift: readonly Drift[]) => [
    'contract/output',
    `Tool "${tool}" ran, but its result does not match its contract.`,
    `${listed(drift.map(driftText))}.`,
    'Correct the tool or its contract. With onDrift: "warn", such results are recorded and returned.',
  ],
  JSON_SCHEMA_COMPILER_MISSING: (tool: string) => [
    'contract/schema',
    `The schema of tool "${tool}" cannot be used.`,
    'There is no compiler for JSON Schema.',
    'Import guard from "retake", or pass a compiler to useJsonSchema() of "@retake/guard". Schemas of zod, valibot and arktype need none.',
  ],
  JSON_SCHEMA_UNUSABLE: (tool: string, why: string) => [
    'contract/schema',
    `The schema of tool "${tool}" cannot be used.`,
    why,
    'Correct the JSON Schema.',
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
    .slice(0, ISSUES_MAX)
    .map((text) => clipText(text.replace(/\s+/g, ' ').replace(/\.$/, ''), ISSUE_LENGTH_MAX))
  const more = texts.length - named.length
  return more > 0 ? `${named.join('; ')}; and ${more} more` : named.join('; ')
}
