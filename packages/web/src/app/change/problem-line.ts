import { StateEffect, StateField } from '@codemirror/state'
import { Decoration, EditorView, type DecorationSet } from '@codemirror/view'

/** Says on which line something is wrong, counted from 1; undefined when nothing is. */
export const setProblemLine = StateEffect.define<number | undefined>()

/** The line with a mistake has another colour; what is wrong stands below the editor. */
export const problemLine = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(lines, { effects, changes, state }) {
    let next = lines.map(changes)
    for (const effect of effects) {
      if (!effect.is(setProblemLine)) continue
      const number = effect.value
      next =
        number === undefined || number > state.doc.lines
          ? Decoration.none
          : Decoration.set(MARK.range(state.doc.line(number).from))
    }
    return next
  },
  provide: (field) => EditorView.decorations.from(field),
})

const MARK = Decoration.line({ class: 'cm-problemLine' })
