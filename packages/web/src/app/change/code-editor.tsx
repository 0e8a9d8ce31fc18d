import { defaultKeymap, history, historyKeymap } from '@codemirror/commands'
import { json } from '@codemirror/lang-json'
import { bracketMatching, indentUnit, syntaxTree } from '@codemirror/language'
import { unifiedMergeView } from '@codemirror/merge'
import {
  Compartment,
  EditorState,
  RangeSetBuilder,
  StateEffect,
  StateField,
} from '@codemirror/state'
import {
  Decoration,
  type DecorationSet,
  drawSelection,
  EditorView,
  keymap,
  lineNumbers,
  ViewPlugin,
} from '@codemirror/view'
import { useEffect, useRef } from 'react'

/** The style nonce of this page's CSP; empty if there is none. */
const cspNonce = (): string =>
  document.querySelector<HTMLMetaElement>('meta[name="csp-nonce"]')?.content ?? ''

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

const jsonColours = ViewPlugin.define(
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

/** Colours of the viewer; they follow the theme. */
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
  '.cm-key': { color: 'var(--kind-model)' },
  '.cm-string': { color: 'var(--text)' },
  '.cm-number': { color: 'var(--kind-tool)' },
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
  /** Highlights differences from this text. */
  readonly original?: string | undefined
  readonly problemAt?: number | undefined
}

/** Tab leaves the editor, like every other field; Ctrl+Enter belongs to the dialog around it. */
export function CodeEditor({ label, form, value, onChange, original, problemAt }: CodeEditorProps) {
  const host = useRef<HTMLDivElement>(null)
  const editor = useRef<Editor>(undefined)
  const reported = useRef(onChange)
  useEffect(() => {
    reported.current = onChange
  })

  useEffect(() => {
    if (host.current === null) return
    const made = new Editor(host.current, label, form, (text) => reported.current(text))
    editor.current = made
    return () => made.view.destroy()
  }, [label, form])
  useEffect(() => editor.current?.show(value), [value, label, form])
  useEffect(() => editor.current?.compare(original), [original, label, form])
  useEffect(() => editor.current?.mark(problemAt), [problemAt, value, label, form])

  return <div ref={host} className="overflow-hidden rounded border border-line" />
}

class Editor {
  readonly view: EditorView
  readonly #merge = new Compartment()

  constructor(
    parent: HTMLElement,
    label: string,
    form: 'json' | 'text',
    onChange: (text: string) => void,
  ) {
    this.view = new EditorView({
      parent,
      state: EditorState.create({
        extensions: [
          EditorView.cspNonce.of(cspNonce()),
          EditorView.contentAttributes.of({ 'aria-label': label }),
          EditorView.lineWrapping,
          EditorView.updateListener.of(({ docChanged, state }) => {
            if (docChanged) onChange(state.doc.toString())
          }),
          editorLook,
          lineNumbers(),
          drawSelection(),
          history(),
          bracketMatching(),
          indentUnit.of('  '),
          keymap.of([...defaultKeymap.filter(({ key }) => key !== 'Mod-Enter'), ...historyKeymap]),
          problemLine,
          form === 'json' ? [json(), jsonColours] : [],
          this.#merge.of([]),
        ],
      }),
    })
  }

  show(value: string): void {
    const { doc } = this.view.state
    if (doc.toString() === value) return
    this.view.dispatch({ changes: { from: 0, to: doc.length, insert: value } })
  }

  compare(original: string | undefined): void {
    const merge =
      original === undefined
        ? []
        : unifiedMergeView({ original, mergeControls: false, gutter: true })
    this.view.dispatch({ effects: this.#merge.reconfigure(merge) })
  }

  mark(line: number | undefined): void {
    this.view.dispatch({ effects: setProblemLine.of(line) })
  }
}
