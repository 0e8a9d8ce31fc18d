import { changedCodeText } from '@retake/tape/present'
import type { Tape } from '@retake/tape'
import { changedSources, warnOfChangedSources } from './source-code.js'
import { painter } from '../terminal/terminal.js'
import { RecordedCode } from './recorded-code.js'

/**
 * The code with which a run of the past is shown: the recorded code if today's differs, which is
 * said on stderr, or undefined for today's.
 */
export function codeToShow(tape: Tape): RecordedCode | undefined {
  if (tape.details.code === undefined) {
    warnOfChangedSources(tape)
    return undefined
  }
  const changed = changedSources(tape)
  if (changed.length === 0) return undefined
  const code = RecordedCode.of(tape, changed)
  if (code === undefined) warnOfChangedSources(tape)
  else
    process.stderr.write(
      `${painter(process.stderr)('yellow', 'note')}  ${changedCodeText(changed.length)}\n`,
    )
  return code
}
