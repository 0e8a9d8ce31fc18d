/** The part of Standard Schema that is used: zod, valibot, arktype and others have it. */
export interface StandardSchema<Input = unknown, Output = unknown> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    /** Never there at run time: what the schema takes and returns, for the compiler. */
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

/**
 * The promise about a result. It is checked, not changed: but for JSON in a text,
 * which is handed on parsed where JSON is promised, the caller gets what the tool returned.
 */
export interface Contract {
  readonly kind?: OutputKind
  readonly schema?: Schema
  /** A broken promise is noted (`warn`), or the result is not handed on (`block`); `block` unless set. */
  readonly onDrift?: 'warn' | 'block'
}
