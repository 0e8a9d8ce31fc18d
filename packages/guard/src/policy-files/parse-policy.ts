import { isMap, isPair, isScalar, isSeq, LineCounter, parseDocument, type Document } from 'yaml'
import { policyFileErrors } from './policy-file-errors.js'
import type { TextPosition, PolicyFile } from './load-policy.js'

/** In a separate file, so that programs without a YAML or JSON policy load no parser. */
export function parsePolicy(file: string, text: string): PolicyFile {
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false })
  // Unknown tags are only warnings.
  const [wrong] = [...document.errors, ...document.warnings]
  if (wrong !== undefined) {
    const { line, col } = lines.linePos(wrong.pos[0])
    const at = `${file}:${line}:${col}`
    if (wrong.code === 'MULTIPLE_DOCS')
      throw policyFileErrors.POLICY_UNREADABLE(
        at,
        'Another document begins there',
        'Write one policy per file; a guard takes several as a list.',
      )
    const fix = wrong.code === 'TAB_AS_INDENT' ? 'Indent with spaces.' : 'Correct it.'
    const [message = ''] = wrong.message.split('\n', 1)
    throw policyFileErrors.POLICY_UNREADABLE(at, message, fix)
  }
  try {
    const data = document.toJS({ maxAliasCount: 100 }) as unknown
    return { file, data, positionOf: (path) => positionIn(document, lines, path) }
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw policyFileErrors.POLICY_UNREADABLE(file, why, 'Write out its aliases (*name).')
  }
}

/** Position of a key or list item; for a missing one, the position of its parent. */
function positionIn(
  document: Document.Parsed,
  lines: LineCounter,
  wanted: readonly (string | number)[],
): TextPosition | undefined {
  let node: unknown = document.contents
  let offset = startOf(node)
  for (const key of wanted) {
    if (isMap(node)) {
      const pair = node.items.find((each) => isScalar(each.key) && String(each.key.value) === key)
      if (!isPair(pair)) break
      offset = startOf(pair.key) ?? offset
      node = pair.value
    } else if (isSeq(node)) {
      node = node.items[Number(key)]
      offset = startOf(node) ?? offset
    } else break
  }
  if (offset === undefined) return undefined
  const { line, col } = lines.linePos(offset)
  return { line, column: col }
}

const startOf = (node: unknown): number | undefined =>
  (node as { range?: readonly number[] | null } | null)?.range?.[0]
