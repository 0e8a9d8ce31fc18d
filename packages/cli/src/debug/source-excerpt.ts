import { readFileSync } from 'node:fs'
import type { SourceLocation } from '@retake/engine/inspect'
import { maskKeys } from '@retake/tape'
import { cutTo, type Look, printable } from '../terminal/terminal.js'

/** Lines shown before and after the one that matters. */
const AROUND = 3

/** The source around a place, with its line marked; empty when the file cannot be read. */
export function sourceExcerpt({ file, line }: SourceLocation, { paint, width }: Look): string[] {
  const lines = readLines(file)
  const first = Math.max(1, line - AROUND)
  const shown = lines.slice(first - 1, line + AROUND)
  const numberWidth = String(first + shown.length - 1).length
  return shown.map((source, index) => {
    const number = first + index
    const text = `${String(number).padStart(numberWidth)}  ${printable(source)}`.trimEnd()
    const cut = cutTo(text, width - 2)
    return number === line ? paint('bold', `> ${cut}`) : `  ${cut}`
  })
}

/** The text of a line, as the file is now; undefined when there is none. */
export const sourceLine = ({ file, line }: SourceLocation): string | undefined =>
  readLines(file)[line - 1]

function readLines(file: string): string[] {
  try {
    return maskKeys(readFileSync(file, 'utf8')).split(/\r?\n/)
  } catch {
    return []
  }
}
