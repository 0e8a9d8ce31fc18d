import { statSync } from 'node:fs'
import path from 'node:path'
import type { Tape } from '@retake/tape'
import { fromHere } from './from-here.js'
import { painter } from './terminal.js'

/** Files of the agent as far as its tape knows them: the entry, and those from which something was started. */
export function sourceFiles(tape: Tape): string[] {
  const { entry, cwd = '.' } = tape.details
  const files = new Set(entry === undefined ? [] : [path.resolve(cwd, entry)])
  for (const event of tape.events()) {
    const site = 'site' in event ? event.site : undefined
    const file = site?.replace(/:\d+:\d+$/, '')
    if (file !== undefined) files.add(path.resolve(cwd, file))
  }
  return [...files]
}

/**
 * Files of the agent that were saved after the run began. Tapes hold no sources,
 * so a file that was saved without a change is named as well.
 */
export function changedSources(tape: Tape): string[] {
  const { startedAt } = tape.run
  return sourceFiles(tape).filter((file) => {
    const found = statSync(file, { throwIfNoEntry: false })
    return found !== undefined && found.mtimeMs > startedAt
  })
}

/** Says so on stderr: lines and variables are those of today's code. The replay goes on, and stops where it differs. */
export function warnOfChangedSources(tape: Tape): void {
  const changed = changedSources(tape)
  if (changed.length === 0) return
  const names = changed.map(fromHere).join(', ')
  const note = painter(process.stderr)('yellow', 'note')
  process.stderr.write(
    `${note}  saved since the recording: ${names}\n` +
      '      Lines are those of now; a replay that differs from the tape stops there.\n',
  )
}
