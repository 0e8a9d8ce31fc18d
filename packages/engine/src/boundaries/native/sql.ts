/** Comments and white space before the first word. */
const LEAD = /^(?:\s|--[^\n]*(?:\n|$)|\/\*[\s\S]*?\*\/|;)+/

/** True for statements that certainly change nothing. */
export const isReading = (sql: string): boolean =>
  /^(?:select|explain|values)\b/i.test(sql.replace(LEAD, ''))

/** True if a statement opens or writes a database file that it names itself. */
export const namesFile = (sql: string): boolean =>
  /(?:^|;)\s*(?:attach\b(?!\s+(?:database\s+)?'(?::memory:)?')|vacuum\b[^;]*\binto\b)/i.test(
    sql.replace(LEAD, ''),
  )

/** Methods that run a statement to its end. */
export const EXECUTES: ReadonlySet<string> = new Set([
  'exec',
  'run',
  'get',
  'all',
  'applyChangeset',
  'loadExtension',
])

/** True if a recorded call such as `better-sqlite3.run insert …` may have changed a database. */
export function changesDatabase(name: string, title: string): boolean {
  const method = name.slice(name.lastIndexOf('.') + 1)
  return EXECUTES.has(method) ? !isReading(title) : method === 'transfer' || method === 'backup'
}

/**
 * The effect of one or more statements on their connection. Savepoints outside a transaction are
 * not tracked.
 */
export function callsOf(sql: string): {
  readonly begins: boolean
  readonly ends: boolean
  /**
   * True if the statements configure the connection, not the database, and so must be repeated when
   * it is reopened.
   */
  readonly isOfConnection: boolean
} {
  const text = sql.replace(LEAD, '')
  return {
    begins: /^begin\b/i.test(text) && !/;\s*(?:commit|end|rollback)\b[^;]*;?\s*$/i.test(text),
    ends: /^(?:commit|end|rollback(?!\s+(?:transaction\s+)?to\b))\b/i.test(text),
    isOfConnection: /^(?:pragma|attach|detach|create\s+temp)/i.test(text),
  }
}
