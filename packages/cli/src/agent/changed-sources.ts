import { statSync } from 'node:fs'
import path from 'node:path'
import type { MovedRoot } from '@retake/engine'
import type { Tape } from '@retake/tape'
import { fromHere, painter } from '../terminal/terminal.js'
import { shaOfFile, versionOf } from './hash-of-code.js'

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
 * Files of the agent that differ from the recorded code. A tape without the code's digests
 * names every file that was saved after the run began, with or without a change.
 */
export function changedSources(tape: Tape, root?: MovedRoot): string[] {
  const { code, cwd = '.' } = tape.details
  if (code !== undefined)
    return Object.entries(code.files)
      .map(([file, sha]) => ({ file: path.resolve(root?.current ?? cwd, file), sha }))
      .filter(({ file, sha }) => shaOfFile(file) !== sha)
      .map(({ file }) => file)
  const { startedAt } = tape.run
  return sourceFiles(tape).filter((file) => {
    const found = statSync(file, { throwIfNoEntry: false })
    return found !== undefined && found.mtimeMs > startedAt
  })
}

/** Imported packages whose version has changed, as `openai 6.0.0 → 7.1.0`. */
export function changedPackages(
  { details: { code, cwd = '.', entry } }: Tape,
  root?: MovedRoot,
): string[] {
  if (code === undefined || entry === undefined) return []
  const file = path.resolve(root?.current ?? cwd, path.relative(cwd, path.resolve(cwd, entry)))
  return Object.entries(code.packages).flatMap(([name, recorded]) => {
    const now = versionOf(name, file) ?? 'not installed'
    return now === recorded ? [] : [`${name} ${recorded} → ${now}`]
  })
}

/** Says so on stderr: lines and variables are those of today's code. The replay goes on, and stops where it differs. */
export function warnOfChangedSources(tape: Tape): void {
  const changed = changedSources(tape)
  if (changed.length === 0) return
  const names = changed.map(fromHere).join(', ')
  const note = painter(process.stderr)('yellow', 'note')
  process.stderr.write(
    `${note}  changed since the recording: ${names}\n` +
      '      Lines are those of now; a replay that differs from the tape stops there.\n',
  )
}
