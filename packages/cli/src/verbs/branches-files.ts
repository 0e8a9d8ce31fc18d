import { attempt } from '@retake/tape/format'
import {
  cutTo,
  type Look,
  lookOf,
  printable,
  printJson,
  type Style,
  tableLines,
  fromHere,
} from '@retake/runner/terminal'
import { DIR_OPTION, usageError, type Verb } from '@retake/runner/command-line'
import path from 'node:path'
import type { FileChange } from '@retake/engine'
import { discardOverlay, keepOverlay, overlayChanges, planOverlay } from '@retake/engine/plans'
import { openOwnTape } from '@retake/tape/node'
import { readFileSync, readlinkSync } from 'node:fs'
import { plural, unifiedDiff } from '@retake/tape/present'

const STYLES = { added: 'green', changed: 'yellow', deleted: 'red' } as const

function fileChangeLines(changes: readonly FileChange[], { paint, width }: Look): string[] {
  const rows = changes.map(({ kind, type, path: file, sizeBefore, sizeAfter }) => {
    const sizes = [sizeBefore, sizeAfter].filter((size) => size !== undefined).join(' → ')
    const size = type === 'file' ? `${sizes} B` : type
    return [paint(STYLES[kind], kind), size, printable(fromHere(file))]
  })
  return tableLines(rows, width)
}

function contentLines(change: FileChange, { paint, width }: Look): string[] {
  const title = paint('bold', `${change.kind} ${printable(fromHere(change.path))}`)
  if (change.type === 'folder') return [title]
  const before = change.kind === 'added' ? Buffer.alloc(0) : contentOf(change.path)
  const after = change.from === undefined ? Buffer.alloc(0) : contentOf(change.from)
  if (before.includes(0) || after.includes(0)) return [title, '  (not text)', '']
  const styles: Readonly<Record<string, Style>> = { '-': 'red', '+': 'green', '@': 'dim' }
  const lines = unifiedDiff(before.toString(), after.toString()).map(({ sign, text }) => {
    const line = cutTo(printable(sign === '@' ? text : `${sign} ${text}`), width - 2)
    const style = styles[sign]
    return `  ${style === undefined ? line : paint(style, line)}`
  })
  return [title, ...(lines.length === 0 ? ['  (only its rights)'] : lines), '']
}

const contentOf = (file: string): Buffer =>
  attempt(() => readFileSync(file)) ??
  attempt(() => Buffer.from(readlinkSync(file)), Buffer.alloc(0))

export default {
  arguments: '<branch> [folder]',
  description: `Forks and reruns do not change your files: what they write is stored beside their
tape. This command shows how these files differ from those on disk.`,
  options: {
    '--files': 'show the files of one branch',
    '--diff': 'show the differences inside the files',
    '--keep':
      'apply the changes to the disk, deletions included; with a folder, copy added and changed files there instead',
    '--discard': 'delete the files of the branch (after --keep, if both are given)',
    ...DIR_OPTION,
  },
  examples: [
    'retake branches --files last --diff',
    'retake branches --files last --keep',
    'retake branches --files last --keep ./from-the-fork',
    'retake branches --files last --discard',
  ],
  run(options, [name = '', to]) {
    const isApplied = options.flag('keep')
    if (to !== undefined && !isApplied)
      throw usageError(`Unexpected argument "${to}".`, 'Only --keep takes a folder.')
    const tape = options.store.find(name)
    const { id } = openOwnTape(tape).run
    const folder = planOverlay(path.resolve(tape))
    const changes = overlayChanges(folder)
    if (!options.json) {
      const withContent = options.flag('diff')
      const look = lookOf(process.stdout)
      if (changes.length === 0) console.log(`Branch ${id} and the disk do not differ.`)
      else if (withContent)
        console.log(changes.flatMap((change) => contentLines(change, look)).join('\n'))
      else console.log(fileChangeLines(changes, look).join('\n'))
    }
    const kept = isApplied ? keepOverlay(folder, to) : []
    const discarded = options.flag('discard')
    if (discarded) discardOverlay(folder)
    if (options.json) {
      const where = to === undefined ? {} : { to: path.resolve(to) }
      printJson({ branch: id, folder, changes, kept, ...where, discarded }, 2)
    } else {
      if (isApplied)
        console.error(
          to === undefined
            ? `${plural(kept.length, 'change')} made on disk.`
            : `${plural(kept.length, 'file')} put into ${to}.`,
        )
      if (discarded) console.error('The files of the branch are gone; its tape stays.')
    }
    return 0
  },
} satisfies Verb
