import { isRecord, type JsonRecord, recordOf } from '@retake/tape'

const TYPE_CHECKS: Readonly<Record<string, (value: unknown) => boolean>> = {
  string: (value) => typeof value === 'string',
  number: (value) => typeof value === 'number',
  integer: (value) => Number.isInteger(value),
  boolean: (value) => typeof value === 'boolean',
  array: (value) => Array.isArray(value),
  object: isRecord,
  null: (value) => value === null,
}

/**
 * How the arguments of a tool call violate the tool's schema, in words. Checks types, required and
 * unknown members and enumerations, which is what models get wrong. Does not check patterns,
 * references and combinators: a schema on a tape is foreign data, and its patterns are never run.
 */
export function argumentProblems(value: unknown, schema: JsonRecord, path = ''): string[] {
  const types = typesOf(schema)
  const where = path === '' ? 'the arguments' : path
  if (types.length > 0 && !types.some((type) => TYPE_CHECKS[type]?.(value) ?? true)) {
    const got = value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value
    return [`${where} is ${article(got)}, not ${article(types.join(' or '))}`]
  }
  const allowed = schema['enum']
  if (Array.isArray(allowed) && !allowed.includes(value))
    return [`${where} is not one of ${allowed.map(String).join(', ')}`]
  const join = (name: string): string => (path === '' ? name : `${path}.${name}`)
  if (Array.isArray(value)) {
    const items = recordOf(schema['items'])
    return value.flatMap((item, at) => argumentProblems(item, items, join(String(at))))
  }
  if (!isRecord(value)) return []
  const properties = recordOf(schema['properties'])
  const required = Array.isArray(schema['required']) ? schema['required'].map(String) : []
  const isClosed = schema['additionalProperties'] === false
  return [
    ...required
      .filter((name) => value[name] === undefined)
      .map((name) => `${join(name)} is missing`),
    ...Object.keys(value)
      .filter((name) => isClosed && !(name in properties))
      .map((name) => `${join(name)} is not known`),
    ...Object.entries(value)
      .filter(([name]) => Object.hasOwn(properties, name))
      .flatMap(([name, member]) =>
        argumentProblems(member, recordOf(properties[name]), join(name)),
      ),
  ]
}

/** Types that a schema allows, in lower case because Gemini writes them in upper case. */
export const typesOf = ({ type, nullable }: JsonRecord): string[] => {
  const types = (Array.isArray(type) ? type : [type])
    .filter((each) => typeof each === 'string')
    .map((each) => each.toLowerCase())
  return nullable === true ? [...types, 'null'] : types
}

const article = (word: string): string => `${/^[aeiou]/.test(word) ? 'an' : 'a'} ${word}`
