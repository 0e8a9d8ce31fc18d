import { defaultKeymap, history, historyKeymap } from '@codemirror/commands'
import { json } from '@codemirror/lang-json'
import { bracketMatching, indentUnit } from '@codemirror/language'
import { unifiedMergeView } from '@codemirror/merge'
import { Compartment, EditorState } from '@codemirror/state'
import { drawSelection, EditorView, keymap, lineNumbers } from '@codemirror/view'
import { useEffect, useRef } from 'react'
import { editorLook } from './editor-look.js'
import { jsonColours } from './json-colours.js'
import { cspNonce } from '../sources/csp-nonce.js'
import { problemLine, setProblemLine } from './problem-line.js'

export interface CodeEditorProps {
  /** Its name for screen readers. */
  readonly label: string
  readonly form: 'json' | 'text'
  readonly value: string
  readonly onChange: (value: string) => void
  /** Shows what differs from this text. */
  readonly original?: string | undefined
  /** A line with a mistake, counted from 1. */
  readonly problemAt?: number | undefined
}

/** An editor for a payload. Tab leaves it, as it leaves every other field; Ctrl+Enter is for the dialog around it. */
export function CodeEditor({ label, form, value, onChange, original, problemAt }: CodeEditorProps) {
  const place = useRef<HTMLDivElement>(null)
  const editor = useRef<Editor>(undefined)
  const told = useRef(onChange)
  useEffect(() => {
    told.current = onChange
  })

  useEffect(() => {
    if (place.current === null) return
    const made = new Editor(place.current, label, form, (text) => told.current(text))
    editor.current = made
    return () => made.view.destroy()
  }, [label, form])
  useEffect(() => editor.current?.show(value), [value, label, form])
  useEffect(() => editor.current?.compare(original), [original, label, form])
  useEffect(() => editor.current?.mark(problemAt), [problemAt, value, label, form])

  return <div ref={place} className="overflow-hidden rounded border border-line" />
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
