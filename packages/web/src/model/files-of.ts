import {
  attempt,
  fileEffect,
  type FileEffect,
  type ResultEvent,
  type RunView,
  type Tape,
} from '@retake/tape'
import { cutText } from './clip.js'
import type { SourceAccess, FileTouch } from './run-source.js'
import { pathOf } from './site-in-stack.js'

const LINE = 2000

/** File operations in order. Does not read bodies. */
export const filesOf = (tape: Tape, view: RunView): FileTouch[] =>
  view.fileCalls.map(({ call: { seq, at, name, title = '' }, result }) => {
    const effect = fileEffect(name)
    const access = effect === undefined ? 'other' : ACCESS[effect]
    const error = result?.error
    const bytes = error === undefined ? bytesOf(tape, access, seq, result) : undefined
    // The options of a write follow the path as JSON.
    const optionsAt = access === 'write' ? title.lastIndexOf(' [') : -1
    const hasOptions =
      optionsAt >= 0 && attempt(() => JSON.parse(title.slice(optionsAt)) as unknown) !== undefined
    const path = hasOptions ? title.slice(0, optionsAt) : title
    return {
      seq,
      at,
      call: name,
      access,
      path: cutText(path.startsWith('file://') ? pathOf(path) : path, LINE),
      ok: error === undefined,
      ...(error && { error: cutText(String(error.code ?? error.message), LINE) }),
      ...(bytes !== undefined && { bytes }),
      step: view.stepBefore(seq)?.label,
    }
  })

/** The data of a write is the body of the call; the data of a read is the body of its result. */
function bytesOf(
  tape: Tape,
  access: SourceAccess,
  seq: number,
  result: ResultEvent | undefined,
): number | undefined {
  if (access === 'write') return tape.bodySize(seq) || undefined
  if (access !== 'read' || result === undefined) return undefined
  return result.as === 'bytes' || result.as === 'text' ? tape.bodySize(result.seq) : undefined
}

/** How the viewer names the effect of a function. */
const ACCESS: Readonly<Record<FileEffect, SourceAccess>> = {
  read: 'read',
  write: 'write',
  list: 'list',
  remove: 'remove',
  look: 'look',
  watch: 'look',
  copy: 'change',
  change: 'change',
  open: 'other',
  flush: 'other',
}
