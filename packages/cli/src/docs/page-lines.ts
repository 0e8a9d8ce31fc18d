import type { Look } from '../terminal.js'
import { wrap } from '../wrap.js'

/**
 * A page as a terminal shows it: no line wider than it but those of programs,
 * the rows of tables below one another. It knows the Markdown that our own
 * pages are written in, not all there is.
 */
export function pageLines(text: string, { paint, width }: Look): string[] {
  let inCode = false
  return text.split('\n').flatMap((line) => {
    if (line.startsWith('```')) {
      inCode = !inCode
      return []
    }
    if (inCode) return [line === '' ? '' : `  ${line}`]
    if (/^(!\[|\| *-)/.test(line)) return []
    const heading = /^#+ (.*)$/.exec(line)
    if (heading) return [paint('bold', plain(heading[1] ?? ''))]
    if (line.startsWith('|')) return rowLines(line, width)
    const [lead = ''] = /^\s*(?:[-*]|\d+\.)? */.exec(line) ?? []
    return indented(plain(line.slice(lead.length)), lead, width)
  })
}

/** The first cell, and below it what the others say of it. */
function rowLines(line: string, width: number): string[] {
  const [first = '', ...rest] = line
    .slice(1, -1)
    .split(/(?<!\\)\|/)
    .map((cell) => plain(cell.replaceAll('\\|', '|').trim()))
  const said = rest.filter((cell) => cell !== '').join(' · ')
  return [
    ...(first === '' ? [] : indented(first, '  ', width)),
    ...(said === '' ? [] : indented(said, '      ', width)),
  ]
}

/** Broken to fit; the lines that follow stand below the first word. */
function indented(text: string, lead: string, width: number): string[] {
  if (text === '') return [lead.trimEnd()]
  return wrap(text, width - lead.length).map(
    (part, index) => (index === 0 ? lead : ' '.repeat(lead.length)) + part,
  )
}

/** Without what Markdown marks up: links are their words, heavy print is plain. */
const plain = (text: string): string =>
  text.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1').replaceAll(/\*\*([^*]+)\*\*/g, '$1')
