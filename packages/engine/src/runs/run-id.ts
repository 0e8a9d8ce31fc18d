import { natives } from '../kernel/natives.js'

/** The ids that this process has given to runs in one second. */
const given = { second: '', ids: new Set<string>() }

/**
 * A run id sorts by time and is readable in a terminal: date, time and four random letters, for
 * example `20261115-093012-kqzt`. Unique within a process, because a search starts dozens of runs
 * in a second.
 */
export function newRunId(): string {
  const time = new natives.Date(natives.dateNow()).toISOString().replace(/[-:]/g, '')
  const second = `${time.slice(0, 8)}-${time.slice(9, 15)}`
  if (second !== given.second) {
    given.second = second
    given.ids.clear()
  }
  let letters = fourLetters()
  while (given.ids.has(letters)) letters = fourLetters()
  given.ids.add(letters)
  return `${second}-${letters}`
}

function fourLetters(): string {
  // Node pools random bytes for UUIDs; other functions draw new ones on each call.
  const random = natives.randomUUID()
  const letter = (at: number): string =>
    'abcdefghijkmnpqrstuvwxyz'[Number.parseInt(random.slice(at, at + 2), 16) % 24] ?? 'a'
  return letter(0) + letter(2) + letter(4) + letter(6)
}

/** Name of a tape file. Excludes everything that could leave the folder. */
export const RUN_FILE = /^[\w-][\w.-]*\.tape$/

/** Tags are also words on a command line, so they start with a letter or digit and contain no spaces. */
export const isTag = (text: unknown): boolean =>
  typeof text === 'string' && /^[\p{L}\p{N}][\p{L}\p{N}._:/@-]{0,99}$/u.test(text)
