import type { Denial } from '../guard-error.js'
import type { GuardedToolOptions } from '../guarded-tool.js'
import { unusable } from './check-schema.js'
import { contractErrors } from './contract-errors.js'

const KINDS: readonly unknown[] = ['json', 'text', 'binary', 'nothing', undefined]
const FIELDS = ['kind', 'schema', 'onDrift']

/** Accepts a contract, or only a schema. */
export function contractOf(output: Schema | Contract): Contract {
  const isContract = !('~standard' in output) && FIELDS.some((field) => field in output)
  return isContract ? output : { schema: output as Schema }
}

/** Problems in the schemas of a tool, reported before it starts. */
export function brokenContract(
  tool: string,
  { input, output }: Pick<GuardedToolOptions<never>, 'input' | 'output'>,
): Denial | undefined {
  const contract = output && contractOf(output)
  if (contract !== undefined) {
    const { kind, onDrift } = contract
    if (!KINDS.includes(kind))
      return contractErrors.contractInvalid(tool, `There is no kind ${JSON.stringify(kind)}.`)
    if (onDrift !== undefined && onDrift !== 'warn' && onDrift !== 'block')
      return contractErrors.contractInvalid(
        tool,
        `onDrift is ${JSON.stringify(onDrift)}; it can be "warn" or "block".`,
      )
    const unknown = Object.keys(contract).find((key) => !FIELDS.includes(key))
    if (unknown !== undefined)
      return contractErrors.contractInvalid(tool, `A contract has no field "${unknown}".`)
  }
  for (const schema of [input, contract?.schema]) {
    const why = schema && unusable(schema)
    if (why) return contractErrors.jsonSchemaUnreadable(tool, why)
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
