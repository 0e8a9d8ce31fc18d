import { defaultKeymap, history, historyKeymap } from '@codemirror/commands'
import { json } from '@codemirror/lang-json'
import {
  bracketMatching,
  HighlightStyle,
  indentUnit,
  syntaxHighlighting,
} from '@codemirror/language'
import { unifiedMergeView } from '@codemirror/merge'
import { Compartment, StateEffect, StateField } from '@codemirror/state'
import {
  Decoration,
  type DecorationSet,
  drawSelection,
  EditorView,
  keymap,
  lineNumbers,
} from '@codemirror/view'
import { tags } from '@lezer/highlight'
import { useEffect, useEffectEvent, useRef, useState } from 'react'

/** Line with an error, from 1; undefined if there is none. */
const setProblemLine = StateEffect.define<number | undefined>()

const problemLine = StateField.define<DecorationSet>({
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

const jsonColours = HighlightStyle.define([
  { tag: tags.propertyName, color: 'var(--kind-model)' },
  { tag: [tags.number, tags.bool, tags.null], color: 'var(--kind-tool)' },
])

/** Uses the colours of the viewer, which follow the theme. */
const editorLook = EditorView.theme({
  '&': { color: 'var(--text)', backgroundColor: 'var(--surface)', maxHeight: '45vh' },
  '&.cm-focused': { outline: '2px solid var(--accent)', outlineOffset: '-2px' },
  '.cm-scroller': {
    minHeight: '6rem',
    overflow: 'auto',
    fontFamily: 'var(--font-mono)',
    fontSize: 'var(--text-sm)',
    lineHeight: '1.5',
  },
  '.cm-content': { caretColor: 'var(--text)', padding: '4px 0' },
  '.cm-cursor': { borderLeftColor: 'var(--text)' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground':
    { backgroundColor: 'var(--accent-soft)' },
  '.cm-gutters': {
    minHeight: '6rem',
    backgroundColor: 'var(--raised)',
    color: 'var(--muted)',
    borderRight: '1px solid var(--line)',
  },
  '.cm-activeLine, .cm-activeLineGutter': { backgroundColor: 'transparent' },
  '.cm-problemLine': { backgroundColor: 'var(--danger-soft)' },
  '.cm-changedLine, .cm-insertedLine': { backgroundColor: 'var(--good-soft)' },
  '.cm-deletedChunk': { backgroundColor: 'var(--danger-soft)', paddingLeft: '6px' },
  '.cm-changedText': { background: 'none', borderBottom: '2px solid var(--good)' },
  '.cm-deletedText, .cm-deletedChunk .cm-deletedText': {
    background: 'none',
    borderBottom: '2px solid var(--danger)',
  },
  '.cm-changeGutter': { width: '3px', paddingLeft: '0' },
  '.cm-changedLineGutter': { background: 'var(--good)' },
  '.cm-deletedLineGutter': { background: 'var(--danger)' },
  '.cm-collapsedLines': {
    background: 'var(--sunken)',
    color: 'var(--muted)',
    backgroundImage: 'none',
  },
})

interface CodeEditorProps {
  readonly label: string
  readonly form: 'json' | 'text'
  readonly value: string
  readonly onChange: (value: string) => void
  readonly original?: string | undefined
  readonly problemAt?: number | undefined
}

/** Tab leaves the editor, as in other fields. Ctrl+Enter is left to the dialog. */
export function CodeEditor({ label, form, value, onChange, original, problemAt }: CodeEditorProps) {
  const host = useRef<HTMLDivElement>(null)
  const [editor, setEditor] = useState<EditorView>()
  const report = useEffectEvent(onChange)
  useEffect(() => {
    // The style nonce of this page's CSP; empty if there is none.
    const view = new EditorView({
      parent: host.current ?? undefined,
      extensions: [
        EditorView.cspNonce.of(
          document.querySelector<HTMLMetaElement>('meta[name="csp-nonce"]')?.content ?? '',
        ),
        EditorView.contentAttributes.of({ 'aria-label': label }),
        EditorView.lineWrapping,
        EditorView.updateListener.of(({ docChanged, state }) => {
          if (docChanged) report(state.doc.toString())
        }),
        editorLook,
        lineNumbers(),
        drawSelection(),
        history(),
        bracketMatching(),
        indentUnit.of('  '),
        keymap.of([...defaultKeymap.filter(({ key }) => key !== 'Mod-Enter'), ...historyKeymap]),
        problemLine,
        form === 'json' ? [json(), syntaxHighlighting(jsonColours)] : [],
        merge.of([]),
      ],
    })
    setEditor(view)
    return () => view.destroy()
  }, [label, form])
  useEffect(() => {
    const { length } = editor?.state.doc ?? ''
    if (editor?.state.doc.toString() !== value)
      editor?.dispatch({ changes: { from: 0, to: length, insert: value } })
  }, [editor, value])
  useEffect(() => {
    const view =
      original === undefined
        ? []
        : unifiedMergeView({ original, mergeControls: false, gutter: true })
    editor?.dispatch({ effects: merge.reconfigure(view) })
  }, [editor, original])
  useEffect(() => {
    editor?.dispatch({ effects: setProblemLine.of(problemAt) })
  }, [editor, problemAt, value])
  return <div ref={host} className="overflow-hidden rounded border border-line" />
}

const merge = new Compartment()
