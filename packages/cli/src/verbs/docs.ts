import {
  leadLines,
  type Look,
  lookOf,
  printJson,
  tableLines,
  widthOf,
} from '@retake/runner/terminal'
import type { Verb } from '@retake/runner/command-line'
import { cliErrors } from '@retake/runner/errors'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { closestName } from '@retake/engine/errors'
import { cliRoot } from '../package-root.js'

/**
 * Renders a page for a terminal. Only code lines may exceed its width, and table cells are stacked.
 * Supports only the Markdown that our own pages use.
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
    const rest = plain(line.slice(lead.length))
    return rest === '' ? [lead.trimEnd()] : leadLines(lead, rest, width)
  })
}

/** The first cell, with the other cells below it. */
function rowLines(line: string, width: number): string[] {
  const [first = '', ...rest] = line
    .slice(1, -1)
    .split(/(?<!\\)\|/)
    .map((cell) => plain(cell.replaceAll('\\|', '|').trim()))
  const said = rest.filter((cell) => cell !== '').join(' · ')
  return [
    ...(first === '' ? [] : leadLines('  ', first, width)),
    ...(said === '' ? [] : leadLines('      ', said, width)),
  ]
}

const plain = (text: string): string =>
  text.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1').replaceAll(/\*\*([^*]+)\*\*/g, '$1')

type DocPage = ReturnType<typeof readPage>

/** The page of that name or path (`docs/guard.md`), or the entry of an error code or a command. */
function findPage(given: string): DocPage {
  const name = given.replace(/^(docs\/)?(errors\/)?/, '').replace(/\.md$/, '')
  const pages = pageNames('')
  const page = pages.find((each) => each === name.toLowerCase())
  if (page !== undefined) return readPage(page)
  const code = name.toUpperCase()
  if (pageNames('errors').includes(code)) return readPage(`errors/${code}`)
  const entry = entryOf('errors', code) ?? entryOf('commands', name.toLowerCase())
  if (entry !== undefined) return entry
  const codes = entriesOf('errors').map((each) => each.slice(0, each.indexOf('\n')))
  throw cliErrors.PAGE_NOT_FOUND(
    given,
    closestName(name.toLowerCase(), pages) ?? closestName(code, codes),
  )
}

const entriesOf = (page: string): string[] => readPage(page).text.split(/^## /m).slice(1)

function entryOf(page: string, title: string): DocPage | undefined {
  const entry = entriesOf(page).find((each) => each.startsWith(`${title}\n`))
  if (entry === undefined) return undefined
  return { name: title, title, path: pathOf(page), text: `# ${entry.trimEnd()}\n` }
}

/** A packed package contains the pages; a checkout has one copy for all packages. */
function folder(): string {
  const packed = fileURLToPath(new URL('docs', cliRoot))
  return existsSync(packed) ? packed : fileURLToPath(new URL('../../docs', cliRoot))
}

const pathOf = (name: string): string => path.join(folder(), `${name}.md`)

const pageNames = (part: string): string[] =>
  readdirSync(path.join(folder(), part))
    .filter((file) => file.endsWith('.md'))
    .map((file) => file.slice(0, -3))
    .toSorted()

function readPage(name: string) {
  const text = readFileSync(pathOf(name), 'utf8')
  const title = /^# (.*)$/m.exec(text)?.[1] ?? name
  return { name: path.basename(name), title, path: pathOf(name), text }
}

export default {
  arguments: '[page]',
  description: `Prints the documentation of this version, without a network. With an error code,
explains the error and how to fix it.`,
  options: { '--json': 'print the page, or the list of pages, as JSON' },
  examples: [
    'retake docs',
    'retake docs guard',
    'retake docs UNKNOWN_RUN',
    'retake docs guard-reference | less',
  ],
  run(options, [name]) {
    const { stdout } = process
    const page = name === undefined ? undefined : findPage(name)
    const pages = pageNames('').map(readPage)
    if (page !== undefined) {
      if (options.json) printJson(page)
      // Rendered on a terminal, plain Markdown elsewhere.
      else if (!stdout.isTTY) stdout.write(page.text)
      else stdout.write(pageLines(page.text, lookOf(stdout)).join('\n'))
    } else if (options.json) for (const each of pages) printJson({ ...each, text: undefined })
    else {
      const rows = pages.map((each) => [each.name, each.title])
      console.log(tableLines(rows, widthOf(stdout)).join('\n'))
      process.stderr.write(
        '\n`retake docs <page>` prints one, `retake docs <CODE>` explains an error.\n',
      )
    }
    return 0
  },
} satisfies Verb
