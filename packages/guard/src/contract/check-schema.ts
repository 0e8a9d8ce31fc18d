import { outsideRuns } from '@retake/engine/hook'
import vm from 'node:vm'
import type { Schema, StandardIssue, StandardResult, StandardSchema } from './contract.js'
import { typeOf } from './type-of.js'

/** Limit for the synchronous part of a schema, which blocks the program. */
const SYNC_MS = 1000
const ASYNC_MS = 10_000

interface Bounded {
  readonly context: { work: (() => unknown) | undefined }
  readonly script: vm.Script
}

let bounded: Bounded | undefined

/**
 * Runs a check with a time limit, because some regular expressions take forever on text that a
 * model chooses. Not promised: a limit for synchronous work after an `await`.
 */
export function boundedCheck<T>(check: () => T): T {
  // Created on first use, outside of any recording.
  bounded ??= outsideRuns(() => ({
    context: vm.createContext({ work: undefined }) as Bounded['context'],
    script: new vm.Script('work()'),
  }))
  const { context, script } = bounded
  const around = context.work
  context.work = check
  try {
    return script.runInContext(context, { timeout: SYNC_MS }) as T
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error
    throw new Error(`it took longer than ${SYNC_MS} ms`, { cause: error })
  } finally {
    context.work = around
  }
}

export function boundedWait<T>(checking: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = new Error(`it took longer than ${ASYNC_MS} ms`)
    const timer = setTimeout(() => reject(late), ASYNC_MS)
    checking.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}

/** Returns the issues of a value. */
export type JsonSchemaCheck = (value: unknown) => readonly StandardIssue[]

/** Throws if the JSON Schema is not valid. */
export type JsonSchemaCompiler = (schema: Readonly<Record<string, unknown>>) => JsonSchemaCheck

let compiler: JsonSchemaCompiler | undefined

/** Registers a compiler for JSON Schema. Importing the package `retake` does this. */
export function useJsonSchema(compile: JsonSchemaCompiler): void {
  compiler = compile
}

export interface SchemaIssue {
  readonly path: readonly PropertyKey[]
  readonly message: string
  /** The expected type, if the library reports it separately. */
  readonly expected?: string
}

export type CheckedValue = { readonly value: unknown } | { readonly issues: readonly SchemaIssue[] }

export interface UnusableSchema {
  readonly because: 'no compiler' | 'broken'
  readonly why: string
}

export const isStandardSchema = (schema: Schema): schema is StandardSchema => '~standard' in schema

const compiled = new WeakMap<object, JsonSchemaCheck | UnusableSchema>()

export function schemaProblem(schema: Schema): UnusableSchema | undefined {
  if (isStandardSchema(schema)) return undefined
  const check = compile(schema)
  return typeof check === 'function' ? undefined : check
}

/** Validates a value. A schema that throws rejects it. */
export function checkSchema(schema: Schema, value: unknown): CheckedValue | Promise<CheckedValue> {
  try {
    if (!isStandardSchema(schema)) {
      const check = compile(schema)
      if (typeof check !== 'function') return { issues: [{ path: [], message: check.why }] }
      const odd = notJson(value)
      if (odd !== undefined)
        return { issues: [{ path: odd.path, message: `is ${odd.found}, which is not JSON` }] }
      const issues = check(withoutUndefined(value))
      return issues.length === 0 ? { value } : { issues: issues.map(schemaIssue) }
    }
    const result = boundedCheck(() => schema['~standard'].validate(value))
    return result instanceof Promise
      ? boundedWait(result).then(fromStandard).catch(threw)
      : fromStandard(result)
  } catch (error) {
    return threw(error)
  }
}

function compile(schema: Readonly<Record<string, unknown>>): JsonSchemaCheck | UnusableSchema {
  const known = compiled.get(schema)
  if (known !== undefined) return known
  // Not cached, because a compiler may be registered later.
  if (compiler === undefined)
    return { because: 'no compiler', why: 'There is no compiler for JSON Schema.' }
  let check: JsonSchemaCheck | UnusableSchema
  try {
    check = compiler(schema)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    check = { because: 'broken', why: `The JSON Schema is broken: ${reason.replace(/\.$/, '')}.` }
  }
  compiled.set(schema, check)
  return check
}

function fromStandard(result: StandardResult): CheckedValue {
  const { issues } = result
  if (issues === undefined || issues.length === 0)
    return 'value' in result ? { value: result.value } : { issues: [NOTHING_SAID] }
  return { issues: issues.map(schemaIssue) }
}

const NOTHING_SAID: SchemaIssue = { path: [], message: 'does not fit' }

/** Fields that libraries add to Standard Schema. */
interface ReportedIssue extends StandardIssue {
  readonly expected?: unknown
  /** For a union, zod reports the issues of each alternative. */
  readonly errors?: unknown
}

function schemaIssue(issue: ReportedIssue): SchemaIssue {
  const path = [...(issue.path ?? [])].map((each) => (typeof each === 'object' ? each.key : each))
  const { message } = issue
  const expected = typeof issue.expected === 'string' ? issue.expected : eitherOf(issue.errors)
  if (expected === undefined) return { path, message }
  const text = issue.errors === undefined ? message : `${message}: expected ${expected}`
  return { path, message: text, expected }
}

/** Such as `string | number`; undefined if an alternative rejects only a part of the value. */
function eitherOf(errors: unknown): string | undefined {
  if (!Array.isArray(errors) || errors.length === 0) return undefined
  const wanted = (errors as unknown[]).map((each) => {
    const first = (Array.isArray(each) ? each[0] : undefined) as ReportedIssue | undefined
    return first?.path?.length === 0 && typeof first.expected === 'string' ? first.expected : ''
  })
  return wanted.includes('') ? undefined : wanted.join(' | ')
}

const threw = (error: unknown): CheckedValue => {
  const what = error instanceof Error ? `${error.name}: ${error.message}` : String(error)
  return { issues: [{ path: [], message: `cannot be checked: the schema threw ${what}` }] }
}

/** Removes members that are undefined, as JSON does. */
function withoutUndefined(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutUndefined)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, member]) => member !== undefined)
      .map(([key, member]) => [key, withoutUndefined(member)]),
  )
}

interface NotJson {
  readonly path: readonly PropertyKey[]
  readonly found: string
}

/** The first part of a value that JSON cannot represent. Undefined members of objects are ignored. */
export function notJson(value: unknown): NotJson | undefined {
  const around = new Set<object>()
  const look = (each: unknown, path: readonly PropertyKey[]): NotJson | undefined => {
    const type = typeOf(each)
    if (type === 'number' && !Number.isFinite(each)) return { path, found: String(each) }
    if (type === 'string' || type === 'number' || type === 'boolean' || type === 'null')
      return undefined
    if (type !== 'object' && type !== 'array') return { path, found: type }
    const container = each as object
    if (around.has(container)) return { path, found: 'a circle' }
    around.add(container)
    for (const [key, member] of Object.entries(container)) {
      if (member === undefined && type === 'object') continue
      const odd = look(member, [...path, type === 'array' ? Number(key) : key])
      if (odd !== undefined) return odd
    }
    around.delete(container)
    return undefined
  }
  return look(value, [])
}
