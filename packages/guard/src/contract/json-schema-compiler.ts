import type { StandardIssue } from './contract.js'

/** Says what is wrong with a value; nothing when it fits. */
export type JsonSchemaCheck = (value: unknown) => readonly StandardIssue[]

/** Makes a check of a JSON Schema; throws when the schema itself is broken. */
export type JsonSchemaCompiler = (schema: Readonly<Record<string, unknown>>) => JsonSchemaCheck

let compiler: JsonSchemaCompiler | undefined

/**
 * Hands in what reads JSON Schema: the engine has no dependency and cannot itself.
 * The package `retake` does this when it is imported; the last one holds.
 */
export function useJsonSchema(compile: JsonSchemaCompiler): void {
  compiler = compile
}

export const jsonSchemaCompiler = (): JsonSchemaCompiler | undefined => compiler
