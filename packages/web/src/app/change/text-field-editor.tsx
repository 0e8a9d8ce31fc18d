import { useId } from 'react'
import type { TextField } from './text-fields.js'

export interface TextFieldEditorProps {
  readonly field: TextField
  /** What the tape holds there; undefined where it holds no text. */
  readonly recorded: string | undefined
  readonly onChange: (text: string) => void
}

/** One text of an answer. Below it stands what was recorded, once it differs. */
export function TextFieldEditor({ field, recorded, onChange }: TextFieldEditorProps) {
  const id = useId()
  const isChanged = field.text !== recorded
  return (
    <div>
      <label htmlFor={id} className="mb-0.5 block text-sm text-muted">
        {field.label}
      </label>
      <textarea
        id={id}
        rows={1}
        className="field-sizing-content block max-h-80 w-full resize-y rounded border border-line-field bg-surface px-2 py-1 font-mono text-sm"
        value={field.text}
        onChange={(event) => onChange(event.target.value)}
      />
      {isChanged && recorded !== undefined && (
        <div className="mt-1 flex items-start gap-2 text-sm">
          <span className="shrink-0 text-muted">recorded</span>
          <del className="line-clamp-3 min-w-0 flex-1 font-mono break-words text-danger">
            {recorded}
          </del>
          <button
            type="button"
            className="shrink-0 text-accent underline"
            onClick={() => onChange(recorded)}
          >
            put back
          </button>
        </div>
      )}
    </div>
  )
}
