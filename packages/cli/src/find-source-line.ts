import { realpathSync, statSync } from 'node:fs'
import path from 'node:path'
import { wrongUsage } from './errors/command-line.js'
import { sourceFileMissing } from './errors/inspect.js'

export interface SourceLine {
  /** Real, absolute path. */
  readonly file: string
  readonly line: number
}

/** Reads `src/agent.ts:42`, seen from the folder of the recording or from here. */
export function findSourceLine(text: string, recordedIn: string | undefined): SourceLine {
  const match = /^(.+?):(\d+)(?::\d+)?$/.exec(text)
  const line = Number(match?.[2])
  if (match?.[1] === undefined || line < 1)
    throw wrongUsage(
      'eval',
      `"${text}" names no line.`,
      'Write file:line, for example src/agent.ts:42.',
    )
  const name = match[1]
  const folders = [...new Set([recordedIn ?? process.cwd(), process.cwd()])]
  const file = folders
    .map((folder) => path.resolve(folder, name))
    .find((candidate) => statSync(candidate, { throwIfNoEntry: false })?.isFile())
  if (file === undefined) throw sourceFileMissing(name, folders)
  return { file: realpathSync(file), line }
}
