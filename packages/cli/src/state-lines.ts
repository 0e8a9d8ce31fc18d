import { printDescribed } from '@retake/engine/inspect'
import type { SourceLocation } from '@retake/engine/inspect'
import type { CapturedState, StateChanges } from '@retake/tape'
import { printable } from './printable.js'
import { sourceExcerpt, sourceLine } from './source-excerpt.js'
import { place, variableLines } from './stop-lines.js'
import { cutTo } from './table.js'
import type { Look } from './terminal.js'

/** More changes than this are only counted; `--json` has all of them. */
const CHANGES_MAX = 40

/** A captured state for a person, and what changed since the step before. */
export function stateLines(
  state: CapturedState,
  since: StateChanges | undefined,
  look: Look,
): string[] {
  const { paint } = look
  const { location, frames, asyncFrames } = state
  return [
    '',
    paint('bold', 'state'),
    ...(location
      ? [paint('cyan', place(location)), ...excerptThen(location, state.source, look)]
      : ['no code of yours was on the stack']),
    ...frames.flatMap(({ name, location: at, variables }) => [
      '',
      `${paint('bold', name === '' ? '(top level)' : name)}  ${place(at)}`,
      ...variableLines(variables, look),
    ]),
    ...asyncFrames.map(({ name, location: at }) => `async ${name || '(top level)'}  ${place(at)}`),
    ...(since ? ['', ...changeLines(since, look)] : []),
  ]
}

/** The source as it was when the state was captured; of a file that has changed since, the line alone. */
function excerptThen(location: SourceLocation, source: string | undefined, look: Look): string[] {
  if (source === undefined || source === sourceLine(location)) return sourceExcerpt(location, look)
  return [
    look.paint('yellow', 'the file has changed since this was captured; the line was'),
    cutTo(`> ${location.line}  ${printable(source)}`, look.width),
  ]
}

function changeLines({ step, changes }: StateChanges, { paint, width }: Look): string[] {
  if (changes.length === 0) return [`nothing changed since step ${step}`]
  const value = (json: unknown): string => printable(printDescribed(json, width - 6))
  const more = changes.length - CHANGES_MAX
  return [
    paint('bold', `changed since step ${step}`),
    ...changes
      .slice(0, CHANGES_MAX)
      .flatMap((change) => [
        `  ${printable(change.path)}`,
        ...('before' in change ? [paint('red', `  - ${value(change.before)}`)] : []),
        ...('after' in change ? [paint('green', `  + ${value(change.after)}`)] : []),
      ]),
    ...(more > 0 ? [`  and ${more} more; --json has all of them`] : []),
  ]
}
