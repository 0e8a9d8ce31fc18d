import { docPages, findPage, type DocPage } from '../docs/doc-pages.js'
import { pageLines } from '../docs/page-lines.js'
import { wrongUsage } from '../errors/command-line.js'
import { table } from '../table.js'
import { painter, widthOf } from '../terminal.js'
import { flag } from '../verb.js'
import type { Verb } from '../verb.js'

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
      for (const page of docPages()) console.log(JSON.stringify({ ...page, text: undefined }))
    else printNames(docPages())
    return Promise.resolve(0)
  },
}

/** Laid out on a terminal; elsewhere the Markdown as it is. */
function printPage(page: DocPage, json: boolean): void {
  const { stdout } = process
  if (json) console.log(JSON.stringify(page))
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
