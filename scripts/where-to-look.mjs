/**
 * The part "Where to look" of ARCHITECTURE.md. It is made from the README of each source folder:
 * one sentence that says what the folder is for, then rows such as
 *
 *     - what is compared: `sequence-matcher.ts`, `compare.ts`
 *
 * Anything else in it is for readers of the folder.
 * A file is named relative to the folder, or to `packages/`. A file that was moved is found by its
 * name, as long as its package has only one of that name.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { packageNames, root } from './run-command.mjs'

const packages = join(root, 'packages')
const ROW = /^- (.+): (`[^`]+`(?:, `[^`]+`)*)$/

const pathsIn = (folder) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((path) => path.replaceAll('\\', '/'))
    .filter((path) => !/(^|\/)(node_modules|bundle|dist)\//.test(path))

/** Source folders that have no README, and rows of a README that are not of the form above. */
export function problemsOfFolders() {
  const problems = []
  for (const name of packageNames) {
    const source = join(packages, name, 'src')
    for (const entry of readdirSync(source, { withFileTypes: true }))
      if (entry.isDirectory() && !existsSync(join(source, entry.name, 'README.md')))
        problems.push(
          `packages/${name}/src/${entry.name}: write a README.md with one sentence that says what the folder is for`,
        )
  }
  for (const { file, purpose, rows, otherLines } of folderPages()) {
    if (!purpose.endsWith('.')) problems.push(`${file}: start with one sentence`)
    for (const line of otherLines) problems.push(`${file}: "${line}" is not "- topic: \`file.ts\`"`)
    for (const { names, paths } of rows)
      for (const [index, path] of paths.entries())
        if (path === undefined) problems.push(`${file}: there is no file ${names[index]}`)
  }
  return problems
}

/** The README files of source folders: purpose, and rows of topic and files. */
function folderPages() {
  return packageNames.flatMap((packageName) => {
    const files = pathsIn(join(packages, packageName))
    return files
      .filter((path) => /^src\/(.*\/)?README\.md$/.test(path))
      .toSorted()
      .map((path) => {
        const folder = `${packageName}/${dirname(path)}`
        const [purpose = '', ...lines] = readFileSync(join(packages, packageName, path), 'utf8')
          .split('\n')
          .filter((line) => line !== '')
        const rows = lines.flatMap((line) => {
          const [, topic, list] = ROW.exec(line) ?? []
          if (topic === undefined) return []
          const names = list.split(', ').map((name) => name.slice(1, -1))
          return [{ topic, names, paths: names.map((name) => pathOf(name, folder, files)) }]
        })
        const otherLines = lines.filter((line) => line.startsWith('- ') && !ROW.test(line))
        return { file: `packages/${packageName}/${path}`, folder, purpose, rows, otherLines }
      })
  })
}

function pathOf(name, folder, files) {
  const direct = [posix.join(folder, name), posix.normalize(name)].find((path) =>
    existsSync(join(packages, path)),
  )
  if (direct !== undefined) return direct
  const sameName = files.filter((path) => posix.basename(path) === posix.basename(name))
  return sameName.length === 1 ? `${folder.split('/')[0]}/${sameName[0]}` : undefined
}

const table = (name, pages) => [
  '',
  `| ${name} | |`,
  '|---|---|',
  ...pages.flatMap(({ folder, purpose, rows }) => [
    `| **${purpose.replace(/\.$/, '')}** | \`${folder}/\` |`,
    ...rows.map(
      ({ topic, paths }) => `| ${topic} | ${paths.map((path) => `\`${path}\``).join(', ')} |`,
    ),
  ]),
]

const GENERATED = /(<!-- where to look: [^\n]*-->\n)[^]*?(\n<!-- \/where to look -->)/

/** The text of ARCHITECTURE.md with its table of folders. */
export function architecturePage() {
  const pages = folderPages()
  const tables = packageNames.flatMap((name) =>
    table(
      name,
      pages.filter(({ folder }) => folder.startsWith(`${name}/`)),
    ),
  )
  return readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8').replace(
    GENERATED,
    (_, start, end) => `${start}${tables.join('\n')}\n${end}`,
  )
}
