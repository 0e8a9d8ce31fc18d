import type { Editable } from '../../api/home-changes.js'
import { Button } from '../design/button.js'
import { CodeEditor } from './code-editor.js'
import type { ForkDraft } from './fork-draft.js'
import { withValueAt } from './json-place.js'
import { readJson } from './json-problem.js'
import { textFields } from './text-fields.js'
import { TextFieldEditor } from './text-field-editor.js'

export interface PayloadEditorProps {
  readonly what: 'answer' | 'question'
  readonly recorded: NonNullable<Editable['answer']>
  readonly draft: ForkDraft
  readonly onChange: (change: Partial<ForkDraft>) => void
}

/** The answer or the question as text: the usual texts of it first, all of it as JSON behind a button. */
export function PayloadEditor({ what, recorded, draft, onChange }: PayloadEditorProps) {
  const key = what === 'answer' ? 'answer' : 'request'
  const text = draft[key] ?? recorded.text
  const parsed = recorded.form === 'json' ? readJson(text) : undefined
  const original = recorded.form === 'json' ? readJson(recorded.text) : undefined
  const fields = what === 'answer' && parsed?.ok ? textFields(parsed.value) : []
  const write = (next: string): void =>
    onChange({ [key]: next === recorded.text ? undefined : next })
  const problem = parsed?.ok === false ? parsed.problem : undefined
  const showsFields = fields.length > 0 && !draft.asJson
  const recordedFields = original?.ok ? textFields(original.value) : []
  return (
    <div className="flex min-h-0 flex-col gap-2">
      {showsFields ? (
        <div className="flex flex-col gap-2">
          {fields.map((field) => (
            <TextFieldEditor
              key={field.at.join('.')}
              field={field}
              recorded={recordedFields.find(({ at }) => at.join() === field.at.join())?.text}
              onChange={(next) =>
                parsed?.ok &&
                write(sameLayout(recorded.text, withValueAt(parsed.value, field.at, next)))
              }
            />
          ))}
        </div>
      ) : (
        <CodeEditor
          label={what === 'answer' ? 'The answer' : 'The question'}
          form={recorded.form}
          value={text}
          onChange={write}
          original={draft.showsChanges ? recorded.text : undefined}
          problemAt={problem?.line}
        />
      )}
      {problem !== undefined && (
        <p role="alert" className="text-danger">
          Line {problem.line}, column {problem.column}: {problem.message}.
        </p>
      )}
      <div className="flex flex-wrap gap-2">
        {(fields.length > 0 || draft.asJson) && recorded.form === 'json' && (
          <Button
            aria-pressed={draft.asJson}
            disabled={draft.asJson && fields.length === 0}
            onClick={() => onChange({ asJson: !draft.asJson })}
          >
            {draft.asJson ? 'Edit the text' : 'Edit as JSON'}
          </Button>
        )}
        {!showsFields && (
          <Button
            aria-pressed={draft.showsChanges}
            onClick={() => onChange({ showsChanges: !draft.showsChanges })}
          >
            {draft.showsChanges ? 'Hide changes' : 'Show changes'}
          </Button>
        )}
        {draft[key] !== undefined && (
          <Button look="quiet" onClick={() => onChange({ [key]: undefined })}>
            Put back what was recorded
          </Button>
        )}
      </div>
    </div>
  )
}

/** JSON laid out as the recorded text is: indented, and ending, in the same way. */
function sameLayout(recorded: string, value: unknown): string {
  const indent = /^[[{]\n( +)/.exec(recorded)?.[1]?.length
  return JSON.stringify(value, undefined, indent) + (recorded.endsWith('\n') ? '\n' : '')
}
