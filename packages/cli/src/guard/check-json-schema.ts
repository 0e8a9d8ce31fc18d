type Json = Readonly<Record<string, unknown>>

const TYPES = new Set(['array', 'boolean', 'integer', 'null', 'number', 'object', 'string'])
/** Keywords whose value is a schema or a list of them, and those with a schema for each name. */
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
 * Throws where a schema could not be asked, or would say something else than is meant:
 * unknown types, patterns that are none. The validator would say so only when a value
 * comes along, after the tool has run. Returns the schema and all schemas in it, of which
 * `checkReferences` looks at where they point to.
 */
export function checkJsonSchema(schema: Json): ReadonlySet<unknown> {
  const seen = new Set<unknown>()
  const look = (each: unknown, at: string): void => {
    if (Array.isArray(each)) return each.forEach((member, index) => look(member, `${at}/${index}`))
    if (typeof each === 'boolean') return
    if (!isRecord(each)) throw new Error(`there is no schema at ${at}`)
    if (seen.has(each)) return
    seen.add(each)
    for (const type of [each['type'] ?? []].flat())
      if (!TYPES.has(type as string)) throw new Error(`${JSON.stringify(type)} at ${at} is no type`)
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
    throw new Error(`the pattern at ${at} is no regular expression`)
  }
}

const isRecord = (value: unknown): value is Json => typeof value === 'object' && value !== null
