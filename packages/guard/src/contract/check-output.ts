import type { Drift } from '@retake/tape'
import type { Denial } from '../guard-error.js'
import type { GuardedTool } from '../guarded-tool.js'
import { checkSchema, type CheckedValue } from './check-schema.js'
import { contractErrors } from './contract-errors.js'
import type { Contract } from './contract.js'
import { nameDrift } from './name-drift.js'
import { outputKind } from './output-kind.js'
import { readJsonText } from './read-json-text.js'
import { contractOf } from './resolve-contract.js'
import { typeOf } from './type-of.js'

/** A result beside what was promised: what drifted, and why it is not handed on, if it is not. */
export interface CheckedOutput {
  readonly value: unknown
  readonly drift: readonly Drift[]
  readonly denial?: Denial
}

/** Checks what a tool returned. Asynchronous only when the schema is. */
export function checkOutput(
  tool: GuardedTool,
  value: unknown,
): CheckedOutput | Promise<CheckedOutput> {
  const { output } = tool.options
  if (output === undefined) return { value, drift: [] }
  const contract = contractOf(output)
  const held = keepsKind(contract, value)
  const checking = held.drift.length > 0 ? held : checkFields(contract, held.value)
  return checking instanceof Promise
    ? checking.then((checked) => judged(tool, contract, checked))
    : judged(tool, contract, checking)
}

function judged({ name }: GuardedTool, contract: Contract, checked: CheckedOutput): CheckedOutput {
  const { drift } = checked
  return drift.length === 0 || contract.onDrift === 'warn'
    ? checked
    : { ...checked, denial: contractErrors.contractDrift(name, drift) }
}

/** Whether the result is of the promised kind. JSON that came as text is parsed. */
function keepsKind({ kind }: Contract, value: unknown): CheckedOutput {
  if (kind === undefined) return { value, drift: [] }
  if (kind === 'json' && typeof value === 'string') return parsed(value)
  const found = outputKind(value)
  if (found.kind === kind || (kind === 'nothing' && value === null)) return { value, drift: [] }
  const drift: Drift = {
    code: 'KIND_CHANGED',
    path: found.path,
    expected: kind,
    found: found.kind ?? found.found,
  }
  return { value, drift: [drift] }
}

function parsed(text: string): CheckedOutput {
  const read = readJsonText(text)
  if ('value' in read) return { value: read.value, drift: [] }
  const { code, found } = read
  return { value: text, drift: [{ code, path: '', expected: 'json', found }] }
}

function checkFields(
  { kind, schema }: Contract,
  value: unknown,
): CheckedOutput | Promise<CheckedOutput> {
  if (schema === undefined) return { value, drift: [] }
  const named = (checked: CheckedValue): CheckedOutput | Promise<CheckedOutput> => {
    if ('value' in checked) return { value, drift: [] }
    const drift = checked.issues.map((issue) => nameDrift(issue, value))
    if (kind !== undefined || typeof value !== 'string' || !wantsOtherThanText(drift))
      return { value, drift }
    // The schema promises data, and here is text: it may be that data, written down.
    const held = parsed(value)
    return held.drift.length > 0 ? held : checkFields({ kind: 'json', schema }, held.value)
  }
  const checked = checkSchema(schema, value)
  return checked instanceof Promise ? checked.then(named) : named(checked)
}

const wantsOtherThanText = (drift: readonly Drift[]): boolean =>
  drift.some(({ code, path, found }) => {
    return code === 'TYPE_CHANGED' && path === '' && found === typeOf('')
  })
