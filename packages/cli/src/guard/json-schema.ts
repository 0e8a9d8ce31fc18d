/** Lets guards read JSON Schema. Importing this is enough: the engine itself has no dependency. */
import { Validator, type OutputUnit, type SchemaDraft } from '@cfworker/json-schema'
import { useJsonSchema, type JsonSchemaCheck } from '@retake/engine/guard'
import { checkJsonSchema } from './check-json-schema.js'
import { checkReferences } from './check-references.js'

/** What is wrong in one place, with what was expected there where that is known. */
interface Issue {
  readonly message: string
  readonly path: readonly PropertyKey[]
  readonly expected?: string
}

export function compileJsonSchema(schema: Readonly<Record<string, unknown>>): JsonSchemaCheck {
  // The validator marks what it reads, which may be frozen or in use elsewhere.
  const own = JSON.parse(JSON.stringify(schema)) as Readonly<Record<string, unknown>>
  checkReferences(own, checkJsonSchema(own))
  const validator = new Validator(own, draftOf(own['$schema']), false)
  return (value) => {
    const { valid, errors } = validator.validate(value)
    if (valid) return []
    const issues = telling(errors).map((unit) => issueOf(unit, value))
    return issues.length > 0 ? issues : [{ message: 'does not fit', path: [] }]
  }
}

useJsonSchema(compileJsonSchema)

/** A schema that does not say is read as the newest. */
function draftOf(uri: unknown): SchemaDraft {
  const draft = /draft-0?(4|7)\b|draft\/(2019-09|2020-12)/.exec(String(uri))
  return (draft?.[1] ?? draft?.[2] ?? '2020-12') as SchemaDraft
}

/** Keywords that only repeat that something further in does not fit. */
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

/** The errors that say what is wrong. Of alternatives only that none fits: each has its own reasons. */
function telling(errors: readonly OutputUnit[]): readonly OutputUnit[] {
  const choices = errors
    .filter(({ keyword }) => keyword === 'anyOf' || keyword === 'oneOf')
    .map(({ keywordLocation }) => `${keywordLocation}/`)
  const outside = errors.filter(
    ({ keywordLocation }) => !choices.some((choice) => keywordLocation.startsWith(choice)),
  )
  const leaves = outside.filter(({ keyword }) => !AROUND.has(keyword))
  return leaves.length > 0 ? leaves : outside.length > 0 ? outside : errors
}

function issueOf({ instanceLocation, keyword, error }: OutputUnit, value: unknown): Issue {
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
  return { message: error.replace(/\.$/, ''), path }
}

/** A JSON pointer as a path; whether a part is a place in a list, only the value knows. */
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
