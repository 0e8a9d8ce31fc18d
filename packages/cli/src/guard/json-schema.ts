/** Adds JSON Schema to guards by being imported, because the engine itself has no dependency. */
import { createRequire } from 'node:module'
import type * as library from '@cfworker/json-schema'
import type { OutputUnit, Schema, SchemaDraft } from '@cfworker/json-schema'
import { boundedCheck, type JsonSchemaCheck, LinearPattern, useJsonSchema } from '@retake/guard'

type Json = Readonly<Record<string, unknown>>

/** Loaded by the first schema, because most programs have none. */
const validation = (): Pick<typeof library, 'dereference' | 'format' | 'Validator'> =>
  createRequire(import.meta.url)('@cfworker/json-schema') as typeof library

const TYPES = new Set(['array', 'boolean', 'integer', 'null', 'number', 'object', 'string'])
/** Keywords whose value is a schema or a list of schemas, and keywords with a schema per name. */
const SCHEMAS = [
  'additionalItems',
  'additionalProperties',
  'allOf',
  'anyOf',
  'contains',
  'else',
  'if',
  'items',
  'not',
  'oneOf',
  'prefixItems',
  'propertyNames',
  'then',
  'unevaluatedItems',
  'unevaluatedProperties',
]
const NAMED = ['$defs', 'definitions', 'dependentSchemas', 'patternProperties', 'properties']

/**
 * Throws if a schema is unusable or has unknown types or invalid patterns. The validator would
 * report this only with the first value, after the tool has run. Returns the schema and all schemas
 * in it, for `checkReferences`.
 */
function checkJsonSchema(schema: Json): ReadonlySet<unknown> {
  const seen = new Set<unknown>()
  const look = (each: unknown, at: string): void => {
    if (Array.isArray(each)) return each.forEach((member, index) => look(member, `${at}/${index}`))
    if (typeof each === 'boolean') return
    if (!isRecord(each)) throw new Error(`there is no schema at ${at}`)
    if (seen.has(each)) return
    seen.add(each)
    for (const type of [each['type'] ?? []].flat())
      if (!TYPES.has(type as string))
        throw new Error(`${JSON.stringify(type)} at ${at} is not a type`)
    const { pattern, properties } = each
    for (const text of [pattern ?? [], Object.keys(each['patternProperties'] ?? {})].flat())
      compiles(text, at)
    if (properties !== undefined && !isRecord(properties))
      throw new Error(`the properties at ${at} are not an object`)
    for (const key of SCHEMAS) if (key in each) look(each[key], `${at}/${key}`)
    for (const key of NAMED)
      for (const [name, member] of Object.entries(each[key] ?? {}))
        look(member, `${at}/${key}/${name}`)
  }
  look(schema, '#')
  return seen
}

function compiles(pattern: unknown, at: string): void {
  try {
    RegExp(String(pattern), 'u')
  } catch {
    throw new Error(`the pattern at ${at} is not a regular expression`)
  }
}

const isRecord = (value: unknown): value is Json => typeof value === 'object' && value !== null

export function compileJsonSchema(schema: Readonly<Record<string, unknown>>): JsonSchemaCheck {
  // The validator modifies the schema, which may be frozen or in use elsewhere.
  const own = JSON.parse(JSON.stringify(schema)) as Readonly<Record<string, unknown>>
  const schemas = checkJsonSchema(own)
  checkReferences(own, schemas)
  const isLinear = usePatterns(schemas)
  const { Validator } = validation()
  // Default: the newest draft.
  const [, old, year] =
    /draft-0?(4|7)\b|draft\/(2019-09|2020-12)/.exec(String(own['$schema'])) ?? []
  const validator = new Validator(own, (old ?? year ?? '2020-12') as SchemaDraft, false)
  return (value) => {
    const validate = (): library.ValidationResult => validator.validate(value)
    const { valid, errors } = isLinear ? validate() : boundedCheck(validate)
    if (valid) return []
    const issues = decisiveErrors(errors).map((unit) => issueOf(unit, value))
    return issues.length > 0 ? issues : [{ message: 'does not fit', path: [] }]
  }
}

useJsonSchema(compileJsonSchema)

const PATTERN = 'pattern '

/**
 * Matches patterns in linear time by turning each into a format: the validator would use
 * JavaScript's own expressions, which a text can make run forever. Returns false if some remain:
 * names of `patternProperties`, and patterns with lookaround or backreferences.
 */
function usePatterns(schemas: ReadonlySet<unknown>): boolean {
  const formats: Record<string, (text: string) => boolean> = validation().format
  let isLinear = true
  for (const each of [...schemas].filter((schema) => isRecord(schema))) {
    const schema = each as { pattern?: string; allOf?: unknown[] }
    if ('patternProperties' in each) isLinear = false
    if (schema.pattern === undefined) continue
    try {
      const linear = new LinearPattern(schema.pattern)
      const format = PATTERN + schema.pattern
      formats[format] ??= (text) => linear.test(text)
      schema.allOf = [...(schema.allOf ?? []), { format }]
      delete schema.pattern
    } catch {
      isLinear = false
    }
  }
  return isLinear
}

/** Keywords whose errors only repeat that something inside does not match. */
const AROUND = new Set([
  '$ref',
  '$dynamicRef',
  '$recursiveRef',
  'additionalItems',
  'additionalProperties',
  'allOf',
  'contains',
  'dependentSchemas',
  'else',
  'if',
  'items',
  'patternProperties',
  'prefixItems',
  'properties',
  'then',
  'unevaluatedItems',
  'unevaluatedProperties',
])

/** The errors that say what is wrong. For alternatives, only that none matches. */
function decisiveErrors(errors: readonly OutputUnit[]): readonly OutputUnit[] {
  const choices = errors
    .filter(({ keyword }) => keyword === 'anyOf' || keyword === 'oneOf')
    .map(({ keywordLocation }) => `${keywordLocation}/`)
  const outside = errors.filter(
    ({ keywordLocation }) => !choices.some((choice) => keywordLocation.startsWith(choice)),
  )
  const leaves = outside.filter(({ keyword }) => !AROUND.has(keyword))
  return leaves.length > 0 ? leaves : outside.length > 0 ? outside : errors
}

function issueOf(
  { instanceLocation, keyword, error }: OutputUnit,
  value: unknown,
): ReturnType<JsonSchemaCheck>[number] & { readonly expected?: string } {
  const path = pathOf(instanceLocation, value)
  if (keyword === 'required') {
    const [, name] = /required property "([^]*)"\.$/.exec(error) ?? []
    if (name !== undefined) return { message: 'is missing', path: [...path, name] }
  }
  if (keyword === 'false') return { message: 'is not known here', path }
  if (keyword === 'type') {
    const [, types = ''] = /Expected ([^]*)\.$/.exec(error) ?? []
    const expected = types.replaceAll('"', '').replaceAll(', ', ' | ')
    return { message: `expected ${expected}`, path, expected }
  }
  if (keyword === 'format' && error.includes(`format "${PATTERN}`))
    return { message: 'String does not match pattern', path }
  return { message: error.replace(/\.$/, ''), path }
}

/** A JSON pointer as a path. Only the value tells whether a part is a list index. */
function pathOf(pointer: string, value: unknown): PropertyKey[] {
  let at = value
  return pointer
    .slice(2)
    .split('/')
    .filter((_, index) => index > 0 || pointer.length > 1)
    .map((part) => {
      const name = part.replaceAll('~1', '/').replaceAll('~0', '~')
      const key = Array.isArray(at) ? Number(name) : name
      at = (at as Record<PropertyKey, unknown> | undefined)?.[key]
      return key
    })
}

/**
 * Throws if a reference of a schema has no target, refers to itself, or names a schema that would
 * have to be fetched. The validator would throw only when it gets a value, after the tool has run.
 * `schemas` lists the real schemas; objects inside `examples` are ignored. Changes its argument:
 * pass a copy.
 */
function checkReferences(schema: Schema, schemas: ReadonlySet<unknown>): void {
  const known: Readonly<Record<string, Schema | boolean>> = validation().dereference(schema)
  for (const [uri, each] of Object.entries(known)) {
    if (!schemas.has(each)) continue
    const passed = new Set<Schema>()
    let at: Schema | boolean | undefined = each
    while (typeof at === 'object' && at.$ref !== undefined) {
      const $ref: string = at.$ref
      const reference = `${$ref} at ${new URL(uri).hash || '#'}`
      if (passed.has(at)) throw new Error(`${reference} leads back to itself`)
      passed.add(at)
      at = known[at.__absolute_ref__ ?? $ref]
      if (at === undefined) throw new Error(`${reference} leads nowhere in this schema`)
    }
  }
}
