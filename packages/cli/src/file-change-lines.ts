import { readFileSync, readlinkSync } from 'node:fs'
import path from 'node:path'
import type { FileChange } from '@retake/engine'
import { lineDiff } from './line-diff.js'
import { printable } from './printable.js'
import { cutTo, table } from './table.js'
import type { Look, Style } from './terminal.js'

const STYLES = { added: 'green', changed: 'yellow', deleted: 'red' } as const

/** A line for each file: what became of it, its path, its size. */
export function fileChangeLines(changes: readonly FileChange[], { paint, width }: Look): string[] {
  return table(
    changes.map((change) => [
      paint(STYLES[change.kind], change.kind),
      sizes(change),
      printable(shownPath(change)),
    ]),
    width,
  )
}

function sizes({ type, sizeBefore, sizeAfter }: FileChange): string {
  if (type !== 'file') return type
  const given = [sizeBefore, sizeAfter].filter((size) => size !== undefined)
  return `${given.join(' → ')} B`
}

/** Relative where it is below the working directory. */
export function shownPath({ path: place }: Pick<FileChange, 'path'>): string {
  const relative = path.relative('.', place)
  return relative.startsWith('..') || path.isAbsolute(relative) ? place : relative
}

/** What differs inside: lines of text, or that it is no text. */
export function contentLines(change: FileChange, { paint, width }: Look): string[] {
  const title = paint('bold', `${change.kind} ${printable(shownPath(change))}`)
  if (change.type === 'folder') return [title]
  const before = change.kind === 'added' ? Buffer.alloc(0) : contentOf(change.path)
  const after = change.from === undefined ? Buffer.alloc(0) : contentOf(change.from)
  if (before.includes(0) || after.includes(0)) return [title, '  (not text)', '']
  const styles: Readonly<Record<string, Style>> = { '-': 'red', '+': 'green', '@': 'dim' }
  const lines = lineDiff(before.toString(), after.toString()).map(({ sign, text }) => {
    const line = cutTo(printable(sign === '@' ? text : `${sign} ${text}`), width - 2)
    const style = styles[sign]
    return `  ${style === undefined ? line : paint(style, line)}`
  })
  return [title, ...(lines.length === 0 ? ['  (only its rights)'] : lines), '']
}

function contentOf(place: string): Buffer {
  try {
    return readFileSync(place)
  } catch {
    try {
      return Buffer.from(readlinkSync(place))
    } catch {
      return Buffer.alloc(0)
    }
  }
}
