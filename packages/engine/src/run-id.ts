import { natives } from './natives.js'

/**
 * A run id sorts by time and reads well in a terminal: date, time and four
 * random letters, for example `20261115-093012-kqzt`.
 */
export function newRunId(): string {
  const time = new natives.Date(natives.dateNow()).toISOString().replace(/[-:]/g, '')
  const letters = [...natives.randomBytes(4)]
    .map((byte) => 'abcdefghijkmnpqrstuvwxyz'[byte % 24])
    .join('')
  return `${time.slice(0, 8)}-${time.slice(9, 15)}-${letters}`
}
