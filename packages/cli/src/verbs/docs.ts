import { pageNotFound, wrongUsage } from '../errors/command-line.js'
import { type Look, painter, table, widthOf, wrap, printJson } from '../terminal/terminal.js'
import { flag, type Verb } from '../command-line/verb.js'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { closestName } from '@retake/engine/errors'
import { cliRoot } from '../package-root.js'

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

/** A page of the documentation that comes with this version of the package. */
interface DocPage {
  /** What it is asked for by: `guard`, or the code of an error. */
  readonly name: string
  readonly title: string
  readonly path: string
  /** Markdown. */
  readonly text: string
}

/** The pages that are no pages of an error, by name. */
const docPages = (): DocPage[] => namesIn('').map((name) => readPage(name, ''))

/** The page of that name, of that error code, or of that path (`docs/guard.md`). */
function findPage(asked: string): DocPage {
  const name = asked.replace(/^(docs\/)?(errors\/)?/, '').replace(/\.md$/, '')
  const [pages, codes] = [namesIn(''), namesIn('errors')]
  const page = pages.find((each) => each === name.toLowerCase())
  if (page !== undefined) return readPage(page, '')
  const code = codes.find((each) => each === name.toUpperCase())
  if (code !== undefined) return readPage(code, 'errors')
  throw pageNotFound(
    asked,
    closestName(name.toLowerCase(), pages) ?? closestName(name.toUpperCase(), codes),
  )
}

/** A package that was packed has the pages within itself; in a checkout they are written for all packages. */
function folder(): string {
  const packed = fileURLToPath(new URL('docs', cliRoot))
  return existsSync(packed) ? packed : fileURLToPath(new URL('../../docs', cliRoot))
}

const namesIn = (part: string): string[] =>
  readdirSync(path.join(folder(), part))
    .filter((file) => file.endsWith('.md'))
    .map((file) => file.slice(0, -3))
    .toSorted()

function readPage(name: string, part: string): DocPage {
  const file = path.join(folder(), part, `${name}.md`)
  const text = readFileSync(file, 'utf8')
  return { name, title: /^# (.*)$/m.exec(text)?.[1] ?? name, path: file, text }
}

export const docs: Verb = {
  usage: '[page | error code] [--json]',
  help: `The pages that come with this version, without a network. An error code has a
page as well: what it means, why it happens, what to do.

Options:
  --json  the page as one line of JSON; without a page, one line for each

Examples:
  retake docs
  retake docs guard
  retake docs UNKNOWN_RUN
  retake docs policy | less`,
  options: {},
  run(values, [name, ...rest]) {
    if (rest.length > 0)
      throw wrongUsage('docs', `"${rest[0]}" is one too many.`, 'The command shows one page.')
    if (name !== undefined) printPage(findPage(name), flag(values, 'json'))
    else if (flag(values, 'json'))
      for (const page of docPages()) printJson({ ...page, text: undefined })
    else printNames(docPages())
    return Promise.resolve(0)
  },
}

/** Laid out on a terminal; elsewhere the Markdown as it is. */
function printPage(page: DocPage, json: boolean): void {
  const { stdout } = process
  if (json) printJson(page)
  else if (!stdout.isTTY) stdout.write(page.text)
  else {
    const look = { paint: painter(stdout), width: widthOf(stdout) }
    stdout.write(pageLines(page.text, look).join('\n'))
  }
}

function printNames(pages: readonly DocPage[]): void {
  const rows = pages.map(({ name, title }) => [name, title])
  console.log(table(rows, widthOf(process.stdout)).join('\n'))
  process.stderr.write('\n`retake docs <page>` shows one, `retake docs <CODE>` that of an error.\n')
}
