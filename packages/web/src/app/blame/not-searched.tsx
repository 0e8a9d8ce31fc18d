import { CopyButton } from '../design/copy-button.js'
import type { Run } from '../run/use-run.js'
import { useHome } from '../sources/viewer-home.js'
import { blameCommand } from './blame-command.js'

/** Stands where nobody has asked yet: how to ask. */
export function NotSearched({ run }: { readonly run: Run }) {
  const { report } = useHome()
  const command = blameCommand(run.head)
  return (
    <div className="flex flex-col items-start gap-2 p-1">
      <p>
        {run.head.status === 'recording'
          ? 'The run goes on: when it has failed, this finds the steps that caused it.'
          : report === undefined
            ? 'The causes of this run were not searched for. This finds them:'
            : 'No search for causes is in this report. Run this where the run is, and make the report again:'}
      </p>
      <p className="flex max-w-full items-center gap-1.5 rounded border border-line bg-raised py-0.5 pr-0.5 pl-2">
        <code className="min-w-0 font-mono text-sm wrap-anywhere">{command}</code>
        <CopyButton text={command} label="Copy the command" />
      </p>
      <p className="text-muted">
        <code className="font-mono text-sm">--oracle</code> says what passing means.
      </p>
    </div>
  )
}
