import path from 'node:path'
import { rememberHidden, withoutHidden } from '@retake/engine/runs'
import { defined, redactText, type SourceList, type Tape } from '@retake/tape'
import { plural, unifiedDiff } from '@retake/tape/present'
import {
  entryOf,
  fileHere,
  movedHere,
  type PackageChange,
  packageChanges,
  packageChangeText,
  readCode,
} from './source-code.js'
import { codeNotStored } from './recorded-code.js'
import { cutTo, type Look, printable, type Style } from '../terminal/terminal.js'
import { filesOfCode, recordedSources, sourceListOf } from './source-store.js'

/** Consecutive lines of a difference, with the numbers of the first one in both texts. */
export interface Hunk {
  readonly before: number
  readonly after: number
  /** Each begins with `-`, `+` or a space. */
  readonly lines: readonly string[]
}

export interface FileChange {
  /** Relative to the working directory of the run. */
  readonly path: string
  readonly change: 'added' | 'changed' | 'deleted'
  /** Empty for a file that is only named, see `why`. */
  readonly hunks: readonly Hunk[]
  readonly why?: 'not kept' | 'not text' | 'hidden' | 'generated' | 'long'
}

/** How the code of a run differs from that of a later one, or from today's. */
export interface CodeChanges {
  readonly files: readonly FileChange[]
  readonly packages: readonly PackageChange[]
  readonly node?: { readonly before: string; readonly after: string }
}

/** One side: digests of all files by their path, and their contents. */
interface Side {
  readonly list: SourceList
  readonly node: string
  readonly content: (file: string) => Buffer | undefined
}

/** Throws for a tape without code. */
export function codeChanges(tape: Tape, other?: Tape): CodeChanges {
  const before = recordedSide(tape)
  const after = other === undefined ? todaysSide(tape) : recordedSide(other)
  const [a, b] = [filesOfCode(before.list), filesOfCode(after.list)]
  const paths = [...new Set([...Object.keys(a), ...Object.keys(b)])].filter(
    (file) => a[file] !== b[file],
  )
  const isMapped = (file: string): boolean => `${file}.map` in a && `${file}.map` in b
  const files = paths
    .filter((file) => !file.endsWith('.map'))
    .map((file) => {
      const change = !(file in a) ? 'added' : !(file in b) ? 'deleted' : 'changed'
      const shown = isLockFile(file)
        ? ({ hunks: [], why: 'long' } as const)
        : isMapped(file)
          ? ({ hunks: [], why: 'generated' } as const)
          : difference(
              file in a ? before.content(file) : NOTHING,
              file in b ? after.content(file) : NOTHING,
            )
      return { path: file, change, ...shown } as const
    })
  const packages =
    other === undefined
      ? [...packageChanges(tape), ...onlyIn(after.list, before.list)]
      : versionsBetween(before.list, after.list)
  return {
    files: files.toSorted((x, y) => (x.path < y.path ? -1 : 1)),
    packages,
    ...(before.node !== after.node && { node: { before: before.node, after: after.node } }),
  }
}

export const hasCodeChanges = ({ files, packages, node }: CodeChanges): boolean =>
  files.length > 0 || packages.length > 0 || node !== undefined

function recordedSide(tape: Tape): Side {
  const { details, run } = tape
  const { cwd = '.' } = details
  const list = sourceListOf(tape)
  if (list === undefined) throw codeNotStored(tape)
  rememberHidden(tape)
  const contents = new Map(recordedSources(tape))
  return { list, node: run.node, content: (file) => contents.get(path.resolve(cwd, file)) }
}

function todaysSide(tape: Tape): Side {
  const { cwd = '.' } = tape.details
  const root = movedHere(tape)
  const here = root?.current ?? cwd
  const entry = fileHere(cwd, entryOf(tape)?.file ?? '', root)
  const withTexts = tape.run.scope === 'function'
  const { list, contents } = readCode(entry, here, { withTexts })
  const all = filesOfCode(list)
  return { list, node: process.version, content: (file) => contents.get(all[file] ?? '') }
}

const isLockFile = (file: string): boolean =>
  /^(?:package-lock\.json|npm-shrinkwrap\.json|pnpm-lock\.yaml|yarn\.lock|bun\.lock)$/.test(
    path.basename(file),
  )

const NOTHING = Buffer.alloc(0)

/** Secrets are masked before the texts are compared, so that none is in a hunk. */
function difference(
  before: Buffer | undefined,
  after: Buffer | undefined,
): Pick<FileChange, 'hunks' | 'why'> {
  if (before === undefined || after === undefined) return { hunks: [], why: 'not kept' }
  if (before.includes(0) || after.includes(0)) return { hunks: [], why: 'not text' }
  const hunks: { before: number; after: number; lines: string[] }[] = []
  for (const { sign, text, lines } of unifiedDiff(maskedText(before), maskedText(after)))
    if (lines !== undefined) hunks.push({ before: lines[0], after: lines[1], lines: [] })
    else hunks.at(-1)?.lines.push(sign + text)
  return hunks.length === 0 ? { hunks, why: 'hidden' } : { hunks }
}

const maskedText = (bytes: Buffer): string =>
  redactText(bytes.toString()).split(/\r?\n/).map(withoutHidden).join('\n')

const onlyIn = (after: SourceList, before: SourceList): PackageChange[] =>
  Object.entries(after.packages)
    .filter(([name]) => !(name in before.packages))
    .map(([name, version]) => ({ name, after: version }))

const versionsBetween = (
  { packages: a }: SourceList,
  { packages: b }: SourceList,
): PackageChange[] =>
  [...new Set([...Object.keys(a), ...Object.keys(b)])]
    .filter((name) => a[name] !== b[name])
    .map((name) => defined({ name, before: a[name], after: b[name] }))

const WHY = {
  'not kept': 'its recorded text is not available',
  'not text': 'not text',
  hidden: 'only in what is masked or in line ends',
  generated: 'compiled; see its sources',
  long: 'lock file',
} as const
const STYLES: Readonly<Record<string, Style>> = { '-': 'red', '+': 'green' }
const CHANGE_STYLES = { added: 'green', changed: 'yellow', deleted: 'red' } as const
/** Lines per file without `full`. */
const LINES_MAX = 60

export const codeChangeLines = (
  { files, packages, node }: CodeChanges,
  look: Look,
  full: boolean,
): string[] => [
  ...files.flatMap((file) => ['', ...fileLines(file, look, full)]),
  ...(packages.length > 0 ? ['', look.paint('bold', 'packages')] : []),
  ...packages.map((each) => `  ${cutTo(printable(packageChangeText(each)), look.width - 2)}`),
  ...(node ? ['', `${look.paint('bold', 'Node')}  ${node.before} → ${node.after}`] : []),
]

function fileLines(
  { path: file, change, hunks, why }: FileChange,
  { paint, width }: Look,
  full: boolean,
): string[] {
  const note = why === undefined ? '' : `  (${WHY[why]})`
  const title = cutTo(printable(`${file}${note}`), width - change.length - 1)
  const all = hunks.flatMap(({ before, after, lines }) => [
    paint('dim', cutTo(`  @ line ${before} → ${after}`, width)),
    ...lines.map((line) => {
      const text = printable(`${line.slice(0, 1)} ${line.slice(1)}`).trimEnd()
      const style = STYLES[line.slice(0, 1)]
      const shown = `  ${full ? text : cutTo(text, width - 2)}`
      return style === undefined ? shown : paint(style, shown)
    }),
  ])
  const rest = full ? 0 : all.length - LINES_MAX
  return [
    `${paint(CHANGE_STYLES[change], change)} ${paint('bold', title)}`,
    ...(rest > 1 ? all.slice(0, LINES_MAX) : all),
    ...(rest > 1 ? [paint('dim', `  … ${plural(rest, 'more line')} (--full shows all)`)] : []),
  ]
}
