import { CopyButton } from '../design/copy-button.js'
import { EmptyNote } from '../design/empty-note.js'

/** Says how to get a first run. */
export function NoRuns() {
  return (
    <EmptyNote title="There are no runs here yet.">
      <p>Record an agent as it is:</p>
      <CommandLine line="retake record agent.ts" />
      <p>Or let Retake record one with a bug, to look around:</p>
      <CommandLine line="retake demo" />
      <p>The list grows by itself.</p>
    </EmptyNote>
  )
}

function CommandLine({ line }: { readonly line: string }) {
  return (
    <span className="inline-flex items-center gap-1 rounded border border-line bg-sunken pl-3">
      <code className="font-mono text-text">{line}</code>
      <CopyButton text={line} label={`Copy “${line}”`} />
    </span>
  )
}
