import { syntaxTree } from '@codemirror/language'
import { RangeSetBuilder } from '@codemirror/state'
import { Decoration, ViewPlugin, type DecorationSet, type EditorView } from '@codemirror/view'

const MARKS = new Map(
  Object.entries({
    PropertyName: 'cm-key',
    String: 'cm-string',
    Number: 'cm-number',
    True: 'cm-number',
    False: 'cm-number',
    Null: 'cm-number',
  }).map(([node, name]) => [node, Decoration.mark({ class: name })]),
)

/** Keys and values of JSON in the colours of the viewer, for what is on the screen. */
export const jsonColours = ViewPlugin.define(
  (view) => ({
    marks: marksOf(view),
    update({ view: next, docChanged, viewportChanged }) {
      if (docChanged || viewportChanged) this.marks = marksOf(next)
    },
  }),
  { decorations: ({ marks }) => marks },
)

function marksOf(view: EditorView): DecorationSet {
  const marks = new RangeSetBuilder<Decoration>()
  for (const { from, to } of view.visibleRanges)
    syntaxTree(view.state).iterate({
      from,
      to,
      enter: (node) => {
        const mark = MARKS.get(node.name)
        if (mark !== undefined && node.to > node.from) marks.add(node.from, node.to, mark)
      },
    })
  return marks.finish()
}
