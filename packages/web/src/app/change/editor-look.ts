import { EditorView } from '@codemirror/view'

/** The editor in the colours of the viewer; they follow the theme by themselves. */
export const editorLook = EditorView.theme({
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
