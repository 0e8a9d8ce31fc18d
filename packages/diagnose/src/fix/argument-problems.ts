import { isRecord, type JsonRecord, recordOf } from '@retake/tape'

/** A difference between the arguments of a tool call and the tool's schema. */
export interface ArgumentProblem {
  /** Path of the argument, such as `items.0.price`. */
  readonly path: string
  readonly kind: 'missing' | 'type' | 'enum' | 'unknown'
  readonly expected: string
  readonly text: string
}

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
 * Compares arguments with a schema. Checks types, required and unknown members and enumerations, which
 * is what models get wrong. Patterns, references and combinators are not checked: a schema on
 * a tape is foreign data, and its patterns are never run.
 */
export function argumentProblems(value: unknown, schema: JsonRecord, path = ''): ArgumentProblem[] {
  const types = typesOf(schema)
  const where = path === '' ? 'the arguments' : path
  if (types.length > 0 && !types.some((type) => TYPE_CHECKS[type]?.(value) ?? true)) {
    const expected = types.join(' or ')
    const got = value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value
    return [
      {
        path,
        kind: 'type',
        expected,
        text: `${where} is ${article(got)}, not ${article(expected)}`,
      },
    ]
  }
  const allowed = schema['enum']
  if (Array.isArray(allowed) && !allowed.includes(value)) {
    const expected = allowed.map(String).join(', ')
    return [{ path, kind: 'enum', expected, text: `${where} is not one of ${expected}` }]
  }
  if (Array.isArray(value)) {
    const items = recordOf(schema['items'])
    return value.flatMap((item, at) => argumentProblems(item, items, join(path, String(at))))
  }
  return isRecord(value) ? memberProblems(value, schema, path) : []
}

const memberProblems = (value: JsonRecord, schema: JsonRecord, path: string): ArgumentProblem[] => {
  const properties = recordOf(schema['properties'])
  const required = Array.isArray(schema['required']) ? schema['required'].map(String) : []
  const missing = required
    .filter((name) => value[name] === undefined)
    .map((name): ArgumentProblem => ({
      path: join(path, name),
      kind: 'missing',
      expected: typesOf(recordOf(properties[name])).join(' or '),
      text: `${join(path, name)} is missing`,
    }))
  const unknown = Object.keys(value)
    .filter((name) => schema['additionalProperties'] === false && !(name in properties))
    .map((name): ArgumentProblem => ({
      path: join(path, name),
      kind: 'unknown',
      expected: Object.keys(properties).join(', '),
      text: `${join(path, name)} is not known`,
    }))
  const inner = Object.entries(value).flatMap(([name, member]) =>
    Object.hasOwn(properties, name)
      ? argumentProblems(member, recordOf(properties[name]), join(path, name))
      : [],
  )
  return [...missing, ...unknown, ...inner]
}

/** Types that a schema allows, in lower case: Gemini writes them in upper case. */
export const typesOf = ({ type, nullable }: JsonRecord): string[] => {
  const types = (Array.isArray(type) ? type : [type])
    .filter((each) => typeof each === 'string')
    .map((each) => each.toLowerCase())
  return nullable === true ? [...types, 'null'] : types
}

const join = (path: string, name: string): string => (path === '' ? name : `${path}.${name}`)
const article = (word: string): string => `${/^[aeiou]/.test(word) ? 'an' : 'a'} ${word}`
