import type { Denial } from '../guard-error.js'
import type { GuardedToolOptions } from '../guarded-tool.js'
import { DataCheck, type FieldRules, problemText } from '../policy/data-check.js'
import { unusable } from './check-schema.js'
import { contractErrors } from './contract-errors.js'

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
