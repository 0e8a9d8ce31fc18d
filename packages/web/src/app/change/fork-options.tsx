import { Select } from '../design/select.js'
import { TextField } from '../design/text-field.js'
import type { ForkDraft } from './fork-draft.js'

export interface ForkOptionsProps {
  readonly draft: ForkDraft
  readonly onChange: (change: Partial<ForkDraft>) => void
  /** The recorded status of the answer, where it came over HTTP and is edited. */
  readonly recordedStatus: number | undefined
}

/** How the branch goes on, and what it is called. */
export function ForkOptions({ draft, onChange, recordedStatus }: ForkOptionsProps) {
  return (
    <div className="flex flex-wrap items-start gap-x-4 gap-y-2">
      <Select
        label="What follows"
        value={draft.tail}
        options={[
          { value: 'live', title: 'live' },
          { value: 'offline', title: 'offline, from this tape' },
        ]}
        onChange={(tail) => onChange({ tail })}
      />
      <TextField
        label="Name of the branch"
        value={draft.name}
        placeholder="like its parent"
        onChange={(name) => onChange({ name })}
      />
      {recordedStatus !== undefined && (
        <TextField
          className="w-28"
          label="HTTP status"
          inputMode="numeric"
          value={draft.status}
          placeholder={String(recordedStatus)}
          onChange={(status) => onChange({ status: status.trim() })}
        />
      )}
    </div>
  )
}
