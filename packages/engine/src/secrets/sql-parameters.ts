import { strengthOf } from '@retake/tape/secrets'

/**
 * Columns to which the placeholders of a statement are bound: by number for `$1` and `?`, by name
 * for `:name`, `@name` and `$name`. A placeholder that is named like a secret is its own column.
 */
export function secretParameters(sql: string): ReadonlyMap<number | string, string> {
  const cached = statements.get(sql)
  if (cached !== undefined) return cached
  const parameters = new Map(
    [...columnsOf(sql)].filter(([, column]) => strengthOf(column) !== 'none'),
  )
  if (statements.size >= STATEMENTS_MAX) statements.clear()
  statements.set(sql, parameters)
  return parameters
}

const statements = new Map<string, ReadonlyMap<number | string, string>>()
const STATEMENTS_MAX = 500
const SQL_MAX = 64 << 10

const TOKEN =
  /'(?:[^']|'')*'|"([^"]*)"|`([^`]*)`|\[([\w ]+)\]|--[^\n]*|\/\*[\s\S]*?\*\/|\$(\d+)|\?(\d*)|[:@$]([A-Za-z_]\w*)|([A-Za-z_]\w*)|::\w+|[(),=;]|[<>!]=?/g

function* columnsOf(sql: string): Generator<readonly [number | string, string]> {
  if (sql.length > SQL_MAX) return
  /** Columns of an `insert`, while they are read and afterwards. */
  let columns: string[] = []
  let part: 'other' | 'table' | 'columns' | 'values' = 'other'
  let [depth, index, ordinal] = [0, 0, 0]
  let [word, column] = ['', '']
  for (const match of sql.matchAll(TOKEN)) {
    const [token, double, back, bracket, numbered, question, named, plain] = match
    const identifier = double ?? back ?? bracket ?? plain
    if (numbered !== undefined || question !== undefined || named !== undefined) {
      if (question !== undefined) ordinal = question === '' ? ordinal + 1 : Number(question)
      const key = named ?? (numbered === undefined ? ordinal : Number(numbered))
      const inserted = part === 'values' && depth > 0 ? columns[index] : undefined
      if (named !== undefined && strengthOf(named) !== 'none') yield [key, named]
      else yield [key, inserted ?? column]
    } else if (identifier !== undefined) {
      const lower = identifier.toLowerCase()
      if (part === 'columns') columns.push(identifier)
      if (plain !== undefined && lower === 'into') [part, columns] = ['table', []]
      else if (plain !== undefined && /^values?$/.test(lower) && columns.length > 0)
        [part, depth] = ['values', 0]
      else if (plain !== undefined && ENDS_EXPRESSION.has(lower)) column = ''
      word = identifier
    } else if (token === '(') {
      depth += 1
      if (part === 'table') part = 'columns'
      else if (part === 'values' && depth === 1) index = 0
    } else if (token === ')') {
      depth -= 1
      if (part === 'columns') part = 'other'
    } else if (token === ',') {
      if (part === 'values' && depth === 1) index += 1
      if (depth === 0) column = ''
    } else if (/^(?:=|<|>|!)/.test(token)) column = word
  }
}

const ENDS_EXPRESSION = new Set([
  'and',
  'or',
  'where',
  'returning',
  'set',
  'limit',
  'order',
  'on',
  'from',
])

/**
 * The arguments of a statement as they may be written to a tape. `values`: an array, an object with
 * names, or both in any order, as libraries take them.
 */
export function maskedParameters(
  sql: string,
  values: unknown,
  hide: (column: string, value: string) => string,
): unknown {
  const parameters = secretParameters(sql)
  if (parameters.size === 0) return values
  let ordinal = 0
  const masked = (column: string | undefined, value: unknown): unknown =>
    column !== undefined && typeof value === 'string' && value.length > 2
      ? hide(column, value)
      : value
  const withNames = (object: object): object =>
    Object.fromEntries(
      Object.entries(object).map(([name, value]) => [
        name,
        masked(parameters.get(name.replace(/^[:@$]/, '')), value),
      ]),
    )
  const isNamed = (value: unknown): value is object =>
    typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype
  const walk = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(walk)
    if (isNamed(value)) return withNames(value)
    ordinal += 1
    return masked(parameters.get(ordinal), value)
  }
  return walk(values)
}
