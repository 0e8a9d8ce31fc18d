import { readFileSync } from 'node:fs'
import path from 'node:path'
import { isOverlay, overlayChanges, overlayOf } from '@retake/engine'
import type { FileChange } from '@retake/engine'
import type { Tape } from '@retake/tape'
import type { BranchFile } from '@retake/web'
import { fromHere } from '../../from-here.js'

/** Larger files are told of, and not shown. */
const BYTES_MAX = 200_000

/** What a branch wrote, compared with the disk as it is now; nothing for a run that is no branch. */
export function branchFilesOf(tape: Tape): BranchFile[] {
  const folder = overlayOf(path.resolve(tape.path))
  return isOverlay(folder) ? overlayChanges(folder).map(fileView) : []
}

function fileView(change: FileChange): BranchFile {
  const { path: file, kind, type, sizeBefore, sizeAfter, from } = change
  const isSmall = Math.max(sizeBefore ?? 0, sizeAfter ?? 0) <= BYTES_MAX
  const shown = type === 'file' && isSmall
  const before = shown && kind !== 'added' ? textOf(file) : undefined
  const after = shown && from !== undefined ? textOf(from) : undefined
  return {
    path: fromHere(file),
    kind,
    type,
    ...(sizeBefore !== undefined && { sizeBefore }),
    ...(sizeAfter !== undefined && { sizeAfter }),
    ...(before !== undefined && { before }),
    ...(after !== undefined && { after }),
  }
}

/** Undefined when it is no text, or gone by now. */
function textOf(file: string): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(file))
  } catch {
    return undefined
  }
}
