import type { Drift } from '@retake/tape/guards'
import { keyPathText } from '@retake/tape/format'
import type { Denial } from '../denials/guard-error.js'
import type { GuardedTool } from './guarded-tool.js'
import { type CheckedValue, checkSchema, notJson, type SchemaIssue } from './check-schema.js'
import { type Contract, contractErrors, contractOf, type OutputKind } from './contract.js'
import { isBytes, typeOf, typesIn } from './type-of.js'

/** Converts a schema issue to drift. Inspects the value, because messages differ by library. */
function nameDrift({ path, message, expected }: SchemaIssue, value: unknown): Drift {
  let field: unknown = value
  for (const key of path) {
    if (field instanceof Map) field = field.get(key)
    else if (typeof field === 'object' && field !== null && Object.hasOwn(field, key))
      field = (field as Record<PropertyKey, unknown>)[key]
    else field = undefined
  }
  const at = keyPathText(path)
  // Most libraries write `expected number, received string` or `must be a number`.
  const wanted =
    expected ?? /\b(?:expected|must be)(?: of type)? (?:an? )?(\w+)/i.exec(message)?.[1]
  if (field === undefined && path.length > 0) {
    const isNamed = wanted !== undefined && typesIn(wanted).length > 0
    return {
      code: 'MISSING_FIELD',
      path: at,
      expected: isNamed ? bare(wanted) : 'a value',
      found: 'nothing',
    }
  }
  const types = wanted === undefined ? [] : typesIn(wanted)
  const found = typeOf(field)
  return types.length > 0 && wanted !== undefined && !types.includes(found)
    ? { code: 'TYPE_CHANGED', path: at, expected: bare(wanted), found }
    : { code: 'SCHEMA_BROKEN', path: at, expected: expected ?? message, found: shown(field) }
}

const bare = (expected: string): string => typesIn(expected).join(' | ')

/** Describes a value without quoting strings, which may be confidential. */
function shown(value: unknown): string {
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  if (typeof value === 'string') return `a string of ${value.length} characters`
  if (Array.isArray(value)) return `an array of ${value.length}`
  return typeOf(value)
}

/** A checked result. `denial` is set if the caller must not get it. */
export interface CheckedOutput {
  readonly value: unknown
  readonly drift: readonly Drift[]
  readonly denial?: Denial
}

/** Checks the result of a tool. Asynchronous only if the schema is. */
export function checkOutput(
  tool: GuardedTool,
  value: unknown,
): CheckedOutput | Promise<CheckedOutput> {
  const { output } = tool.options
  if (output === undefined) return { value, drift: [] }
  const contract = contractOf(output)
  const outcome = checkKind(contract, value)
  const checking = outcome.drift.length > 0 ? outcome : checkFields(contract, outcome.value)
  return checking instanceof Promise
    ? checking.then((checked) => judged(tool, contract, checked))
    : judged(tool, contract, checking)
}

function judged({ name }: GuardedTool, contract: Contract, checked: CheckedOutput): CheckedOutput {
  const { drift } = checked
  return drift.length === 0 || contract.onDrift === 'warn'
    ? checked
    : { ...checked, denial: contractErrors.CONTRACT_DRIFT(name, drift) }
}

/** Checks the kind of the result. JSON text is parsed. */
function checkKind({ kind }: Contract, value: unknown): CheckedOutput {
  if (kind === undefined) return { value, drift: [] }
  if (kind === 'json' && typeof value === 'string') return parsed(value)
  const sort = outputKind(value)
  const odd = sort === 'json' ? notJson(value) : undefined
  const found = odd?.found ?? sort
  if (found === kind || (kind === 'nothing' && value === null)) return { value, drift: [] }
  const path = keyPathText(odd?.path ?? [])
  return { value, drift: [{ code: 'KIND_CHANGED', path, expected: kind, found }] }
}

function parsed(text: string): CheckedOutput {
  try {
    return { value: JSON.parse(text) as unknown, drift: [] }
  } catch (error) {
    const drift = { path: '', expected: 'json', ...describeFault(text, error as Error) }
    return { value: text, drift: [drift] }
  }
}

function checkFields(
  { kind, schema }: Contract,
  value: unknown,
): CheckedOutput | Promise<CheckedOutput> {
  if (schema === undefined) return { value, drift: [] }
  const named = (checked: CheckedValue): CheckedOutput | Promise<CheckedOutput> => {
    if ('value' in checked) return { value, drift: [] }
    const drift = checked.issues.map((issue) => nameDrift(issue, value))
    if (kind !== undefined || typeof value !== 'string') return { value, drift }
    // If the schema does not expect a string, this one may be JSON.
    const wantsOther = drift.some(
      ({ code, path, found }) => code === 'TYPE_CHANGED' && path === '' && found === typeOf(''),
    )
    if (!wantsOther) return { value, drift }
    const outcome = parsed(value)
    return outcome.drift.length > 0 ? outcome : checkFields({ kind: 'json', schema }, outcome.value)
  }
  const checked = checkSchema(schema, value)
  return checked instanceof Promise ? checked.then(named) : named(checked)
}

/** The kind of a result. A string is `text` even if it contains JSON. */
function outputKind(value: unknown): OutputKind {
  if (value === undefined) return 'nothing'
  if (typeof value === 'string') return 'text'
  return isBytes(value) ? 'binary' : 'json'
}

function describeFault(text: string, { message }: Error): Pick<Drift, 'code' | 'found'> {
  const start = text.search(/\S/)
  if (start < 0) return { code: 'TEXT_WHERE_JSON', found: 'an empty text' }
  if (text.startsWith('```', start))
    return { code: 'INVALID_JSON', found: 'a code fence around the answer' }
  if (text.codePointAt(0) === 0xfe_ff)
    return { code: 'INVALID_JSON', found: 'a byte order mark before the JSON' }
  if (!/^[{[]/.test(text.slice(start))) {
    const inside = text.search(/[{[]\s*["{[\]}]/)
    return {
      code: 'TEXT_WHERE_JSON',
      found: inside < 0 ? 'text' : `text, with what may be JSON from character ${inside} on`,
    }
  }
  // V8's messages differ between versions and quote the text, so only the position is used.
  const end = text.trimEnd().length
  const isOpen = /end of JSON input|Unterminated/.test(message)
  const at = isOpen ? end : Number(/at position (\d+)/.exec(message)?.[1] ?? -1)
  if (at >= end)
    return { code: 'INVALID_JSON', found: `JSON that is cut off at character ${text.length}` }
  const found = at < 0 ? 'broken JSON' : `JSON that is broken at character ${at}`
  return { code: 'INVALID_JSON', found }
}
