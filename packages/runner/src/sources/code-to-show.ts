import { changedCodeText } from '@retake/tape/present'
import type { Tape } from '@retake/tape'
import { changedSources, warnOfChangedSources } from './source-code.js'
import { painter } from '../terminal/terminal.js'
import { codeNotStored, RecordedCode } from './recorded-code.js'

/**
 * The code with which a run of the past is shown: the recorded code if today's differs, which is
 * said on stderr, or undefined for today's.
 */
export function codeToShow(tape: Tape): RecordedCode | undefined {
  const changed = changedSources(tape)
  if (changed.length === 0) return undefined
  const code = RecordedCode.of(tape, changed)
  if (code !== undefined)
    process.stderr.write(
      `${painter(process.stderr)('yellow', 'note')}  ${changedCodeText(changed.length)}\n`,
    )
  else {
    warnOfChangedSources(tape)
    if (tape.details.code !== undefined) process.stderr.write(`      ${codeNotStored(tape).why}\n`)
  }
  return code
}
