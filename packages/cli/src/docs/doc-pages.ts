import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { closestName } from '@retake/engine/errors'
import { pageNotFound } from '../errors/command-line.js'

/** A page of the documentation that comes with this version of the package. */
export interface DocPage {
  /** What it is asked for by: `guard`, or the code of an error. */
  readonly name: string
  readonly title: string
  readonly path: string
  /** Markdown. */
  readonly text: string
}

/** The pages that are no pages of an error, by name. */
export const docPages = (): DocPage[] => namesIn('').map((name) => readPage(name, ''))

/** The page of that name, of that error code, or of that path (`docs/guard.md`). */
export function findPage(asked: string): DocPage {
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
  const packed = fileURLToPath(new URL('../../docs', import.meta.url))
  return existsSync(packed) ? packed : fileURLToPath(new URL('../../../../docs', import.meta.url))
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
