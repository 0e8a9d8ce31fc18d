import { readFileSync, realpathSync, statSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { redactText, type Tape, attempt } from '@retake/tape'
import { rememberHidden, withoutHidden } from '@retake/engine/runs'
import type { SourceExcerpt } from '../../model/run-source.js'
import { changedSources, fileHere, movedHere, projectRoot } from '@retake/runner/agent'
import { recordedSource } from '@retake/runner/sources'

const AROUND = 8
const FILE_MAX_BYTES = 4 << 20
const LINE_MAX = 2000
/** Program files. */
const SOURCE = /\.(?:[cm]?[jt]sx?|py|vue|svelte|astro)$/

/**
 * The source around a location on a tape, as recorded, or from the current file if that was not
 * kept; undefined if there is nothing to show. A tape can come from anywhere and name any file, so this reads only sources inside of the
 * run's project, with links followed: nothing from node_modules, no other kinds of files, and no
 * project that is a whole disk or home directory. Keys are masked.
 */
export function sourceNear(
  tape: Tape,
  site: string,
  changedFiles = (): number => changedSources(tape).length,
): SourceExcerpt | undefined {
  const [, name, line, column] = /^(.+?):(\d{1,9})(?::(\d{1,9}))?$/.exec(site) ?? []
  if (name === undefined) return undefined
  const named = fileHere(tape.details.cwd ?? '.', name, movedHere(tape))
  const here = realFile(named)
  const file = here ?? named
  if (!mayBeShown(tape, file)) return undefined
  const today = here === undefined ? undefined : attempt(() => readSource(here))
  const recorded = recordedSource(tape, name)
  const content = recorded ?? today
  if (content === undefined || content.length > FILE_MAX_BYTES) return undefined
  const lines = redactText(content.toString()).split(/\r?\n/)
  const at = Number(line)
  if (at < 1 || at > lines.length) return undefined
  const isChanged = recorded !== undefined && today?.equals(recorded) !== true
  rememberHidden(tape)
  const first = Math.max(1, at - AROUND)
  return {
    file,
    line: at,
    column: Number(column ?? 1),
    firstLine: first,
    lines: lines
      .slice(first - 1, at + AROUND)
      .map((text) => withoutHidden(text).slice(0, LINE_MAX)),
    ...(isChanged && { changedFiles: changedFiles() }),
    ...(here === undefined && { isDeleted: true }),
    ...(recorded === undefined &&
      statSync(file).mtimeMs > tape.run.startedAt && { savedSince: true }),
  }
}

const readSource = (file: string): Buffer | undefined =>
  statSync(file).size > FILE_MAX_BYTES ? undefined : readFileSync(file)

function mayBeShown(tape: Tape, file: string): boolean {
  if (!SOURCE.test(file) || file.split(path.sep).includes('node_modules')) return false
  const { cwd } = tape.details
  const folders = [movedHere(tape)?.current ?? cwd, process.cwd()]
  return folders.some((folder) => {
    const root =
      folder === undefined ? undefined : realFile(projectRoot(path.join(folder, 'agent.js')))
    if (
      root === undefined ||
      root === path.parse(root).root ||
      root === os.homedir() ||
      os.homedir().startsWith(root + path.sep)
    )
      return false
    return file.startsWith(root + path.sep)
  })
}

const realFile = (file: string): string | undefined => attempt(() => realpathSync(file))
