import { cutTo, type Look, printable } from '@retake/runner/terminal'
import { DIR_OPTION, type Verb } from '@retake/runner/command-line'
import { openOwnTape } from '@retake/tape/node'
import { type BranchNode, branchTree, changeText, howText } from '@retake/runner/runs'
import { RunStore } from '@retake/runner/runs'
import path from 'node:path'
import { cost, duration, plural } from '@retake/tape/present'

export default {
  arguments: '<run>',
  description: `Shows for each branch where it left its parent, what was changed, its outcome, and
how much was saved by serving steps from the tape.`,
  options: { ...DIR_OPTION, '--json': 'print the tree as JSON' },
  examples: ['retake branches last'],
  run(options, [name = '']) {
    const file = options.store.find(name)
    const { id } = openOwnTape(file).run
    const { root, unreadable } = branchTree(new RunStore(path.dirname(file)), id)
    options.print(root, (look) => treeLines(root, id, look), 2)
    if (unreadable.length > 0)
      process.stderr.write(
        `${plural(unreadable.length, 'tape')} of this folder cannot be read and may belong here: ${unreadable.join(', ')}\n`,
      )
    return 0
  },
} satisfies Verb

function treeLines(node: BranchNode, chosen: string, look: Look, indent = ''): string[] {
  const { paint, width } = look
  const cut = (line: string): string => cutTo(line, width - indent.length)
  const id = node.id === chosen ? paint('bold', node.id) : node.id
  const below = `${indent}${node.branches.length > 0 ? '│ ' : '  '}`
  return [
    `${id}  ${outcome(node, look)}`,
    ...factsOf(node, width - below.length).map((line) => below + paint('dim', cut(line))),
    ...node.branches.flatMap((branch, index) => {
      const isLast = index === node.branches.length - 1
      const [first = '', ...others] = treeLines(
        branch,
        chosen,
        look,
        indent + (isLast ? '  ' : '│ '),
      )
      return [`${indent}${isLast ? '└ ' : '├ '}${first}`, ...others]
    }),
  ]
}

function outcome(
  { name, status, exitCode, branch, isImported, error }: BranchNode,
  { paint }: Look,
): string {
  if (error !== undefined) return `${paint('red', 'damaged')} ${error.code}`
  const origin = isImported ? 'imported' : 'recorded'
  const how = branch === undefined ? origin : howText(branch)
  const state = paint(
    status === 'done' ? 'green' : status === 'failed' ? 'red' : 'yellow',
    status ?? '',
  )
  return `${how} · ${state}${exitCode ? ` (exit code ${exitCode})` : ''} · ${printable(name)}`
}

function factsOf({ branch, facts }: BranchNode, width: number): string[] {
  if (branch === undefined || facts === undefined) return []
  const { savedRequests, savedTokens, savedUsd, savedMs } = facts
  const money = savedUsd === undefined ? [] : [cost(savedUsd)]
  return [
    ...branch.edits.map((edit) => changeText(edit, width)),
    `saved ${[plural(savedRequests, 'request'), `${savedTokens} tokens`, ...money, duration(savedMs)].join(' · ')}`,
  ]
}
