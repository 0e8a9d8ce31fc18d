import { clipText } from '@retake/tape/format'
import type { Denial } from '../denials/guard-error.js'
import type { GuardedToolOptions } from './guarded-tool.js'
import { type CheckedValue, checkSchema, isStandardSchema } from './check-schema.js'
import { brokenContract, contractErrors, type Schema } from './contract.js'

const LENGTH_MAX = 400
const DEPTH_MAX = 4

/** A schema in one line: `{ to: string, note?: string }`. Undefined if the library hides it. */
function shapeLine(schema: Schema): string | undefined {
  try {
    let json: Json | undefined
    if (isStandardSchema(schema)) {
      const standard = schema['~standard'] as { readonly jsonSchema?: { input?: unknown } }
      const input = standard.jsonSchema?.input
      if (typeof input === 'function')
        json = input.call(standard.jsonSchema, { target: 'draft-2020-12' }) as Json
    } else json = schema
    const line = json === undefined ? entriesOf(schema) : shapeOf(json, json, 0)
    return line && clipText(line, LENGTH_MAX)
  } catch {
    return undefined
  }
}

type Json = Readonly<Record<string, unknown>>

/** The shape of a valibot schema, which stores the schemas of its fields. */
function entriesOf(schema: object): string | undefined {
  const { entries, expects } = schema as { entries?: unknown; expects?: unknown }
  if (!isRecord(entries)) return typeof expects === 'string' ? expects : undefined
  const fields = Object.entries(entries).map(([key, field]) => {
    const { expects: wanted, type } = field as { expects?: unknown; type?: unknown }
    const isOptional = type === 'optional' || type === 'nullish' || type === 'exact_optional'
    const shape = entriesOf(field as object) ?? (typeof wanted === 'string' ? wanted : 'any')
    return `${key}${isOptional ? '?' : ''}: ${shape}`
  })
  return `{ ${fields.join(', ')} }`
}

function shapeOf(schema: unknown, root: Json, depth: number): string {
  if (schema === false) return 'never'
  if (!isRecord(schema) || depth > DEPTH_MAX) return 'any'
  const inner = (each: unknown): string => shapeOf(each, root, depth + 1)
  const { $ref, type, properties, items, required } = schema
  if (typeof $ref === 'string') {
    let target: unknown = $ref.startsWith('#') ? root : undefined
    for (const key of $ref.slice(1).split('/').filter(Boolean))
      target = isRecord(target)
        ? target[key.replaceAll('~1', '/').replaceAll('~0', '~')]
        : undefined
    return inner(target)
  }
  if ('const' in schema) return JSON.stringify(schema['const'])
  if (Array.isArray(schema['enum'])) return schema['enum'].map((v) => JSON.stringify(v)).join(' | ')
  const either = schema['anyOf'] ?? schema['oneOf']
  if (Array.isArray(either)) return either.map(inner).join(' | ')
  if (Array.isArray(type)) return type.join(' | ')
  if (type === 'array' || items !== undefined) {
    const member = inner(items)
    return member.includes(' | ') ? `(${member})[]` : `${member}[]`
  }
  if (!isRecord(properties)) return typeof type === 'string' ? type : 'any'
  const needed = Array.isArray(required) ? required : []
  const fields = Object.entries(properties).map(
    ([key, field]) => `${key}${needed.includes(key) ? '' : '?'}: ${inner(field)}`,
  )
  return fields.length === 0 ? '{}' : `{ ${fields.join(', ')} }`
}

const isRecord = (value: unknown): value is Json => typeof value === 'object' && value !== null

/** The arguments that the schema returned, or why it rejected them. */
export type CheckedInput = { readonly args: unknown } | { readonly denial: Denial }

/** Checks the arguments of a call. Asynchronous only if the schema is. */
export function checkInput(
  tool: string,
  options: Pick<GuardedToolOptions<never>, 'input' | 'output'> | undefined,
  args: unknown,
): CheckedInput | Promise<CheckedInput> {
  if (options === undefined) return { args }
  const { input, output } = options
  if (input === undefined && output === undefined) return { args }
  const denial = brokenContract(tool, options)
  if (denial !== undefined) return { denial }
  if (input === undefined) return { args }
  const checked = checkSchema(input, args)
  return checked instanceof Promise
    ? checked.then((each) => checkedInput(tool, input, each))
    : checkedInput(tool, input, checked)
}

const checkedInput = (tool: string, schema: Schema, checked: CheckedValue): CheckedInput =>
  'value' in checked
    ? { args: checked.value }
    : { denial: contractErrors.INPUT_INVALID(tool, checked.issues, shapeLine(schema)) }
