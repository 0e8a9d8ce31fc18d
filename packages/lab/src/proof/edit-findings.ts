import { clipText } from '@retake/tape'
import type { ParsedSource, SyntaxNode } from './source-text.js'

/** Nodes that a change adds, of those that a function selects in a file. */
export type AddedNodes = (
  pick: (source: ParsedSource) => readonly SyntaxNode[],
  kindOf?: (node: SyntaxNode) => string,
) => readonly SyntaxNode[]

/** Nodes whose text occurs more often than before. One of a kind that is gone may take its place. */
export function newNodes(
  before: readonly SyntaxNode[],
  now: readonly SyntaxNode[],
  kindOf?: (node: SyntaxNode) => string,
): SyntaxNode[] {
  const added = unmatched(before, now, textOf)
  return kindOf === undefined ? added : unmatched(unmatched(now, before, textOf), added, kindOf)
}

const textOf = ({ text }: SyntaxNode): string => text

function unmatched(
  before: readonly SyntaxNode[],
  now: readonly SyntaxNode[],
  keyOf: (node: SyntaxNode) => string,
): SyntaxNode[] {
  const known = new Map<string, number>()
  for (const node of before) known.set(keyOf(node), (known.get(keyOf(node)) ?? 0) + 1)
  return now.filter((node) => {
    const left = known.get(keyOf(node)) ?? 0
    known.set(keyOf(node), left - 1)
    return left <= 0
  })
}

export const located = ({ source, line }: SyntaxNode): string => `${source.path}:${line}`

const SHOWN_MAX = 80

/** Where a node is, with the text of its line. */
export const finding = <Code extends string>(code: Code, node: SyntaxNode) => ({
  code,
  at: located(node),
  text: clipText(node.source.text.split('\n')[node.line - 1]!.trim(), SHOWN_MAX),
})
