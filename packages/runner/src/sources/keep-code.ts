import { bytesText } from '@retake/tape/present'
import type { RecordedCode } from '@retake/tape'
import { reason } from '@retake/engine/errors'
import { readCode } from '../agent/source-code.js'
import { fromHere, painter } from '../terminal/terminal.js'
import { CONTENT_BYTES_MAX, SourceStore } from './source-store.js'

/**
 * Reads the code of a program that is about to run, and keeps its contents beside the runs. If that
 * is impossible, says so on stderr, and the run is recorded with digests only.
 */
export function keepCode(entry: string, cwd: string, runsFolder: string): RecordedCode {
  const { code, contents, tooLarge } = readCode(entry, cwd)
  const store = SourceStore.besideRuns(runsFolder)
  if (tooLarge.length > 0)
    warn(
      `${tooLarge.map(fromHere).join(', ')}: larger than ${bytesText(CONTENT_BYTES_MAX)}, so this code is not kept with the run`,
    )
  try {
    store.keep(contents)
  } catch (error) {
    warn(
      `the code of this run is not kept, because ${fromHere(store.folder)} cannot be written: ${reason(error)}`,
    )
  }
  return code
}

const warn = (text: string): void =>
  void process.stderr.write(`${painter(process.stderr)('yellow', 'note')}  ${text}\n`)
