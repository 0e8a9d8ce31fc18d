import { changedCodeText } from '@retake/tape/present'
import { useQuery } from '@tanstack/react-query'
import { TextButton } from '../design/button.js'
import { QueryNote } from '../design/notes.js'
import { copyWithToast } from '../design/toast.js'
import type { SourceExcerpt } from '../../model/run-source.js'
import type { Run } from '../run/data/use-run.js'
import { useBackend } from '../sources/backend.js'
import { Field, type TabProps } from '../values/field.js'
import { VisibleText } from '../values/text.js'

export function SourceView({ run, site }: { run: Run; site: string }) {
  const excerpt = useQuery({
    queryKey: ['source', run.id, site],
    queryFn: async () => (await run.source.source(site)) ?? null,
  })
  return (
    <div>
      <p className="mb-1 flex flex-wrap items-baseline gap-x-3 text-sm">
        <VisibleText text={site} className="font-mono [overflow-wrap:anywhere]" />
        <TextButton onClick={() => void copyWithToast('the location', site)}>Copy</TextButton>
        {excerpt.data && <EditorLink excerpt={excerpt.data} />}
      </p>
      {excerpt.data === undefined && <QueryNote what="the source" error={excerpt.error} />}
      {excerpt.data === null && <p className="text-muted">The source is not available.</p>}
      {excerpt.data?.changedFiles !== undefined && (
        <p className="mb-1 text-sm text-warning">{changedCodeText(excerpt.data.changedFiles)}.</p>
      )}
      {excerpt.data?.savedSince === true && (
        <p className="mb-1 text-sm text-warning">
          The file was saved after the run began: the lines may have changed.
        </p>
      )}
      {excerpt.data && (
        <ol
          // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- a scrollable element must be reachable by keyboard
          tabIndex={0}
          aria-label="Lines of the source"
          className="overflow-x-auto rounded border border-line bg-sunken py-1 font-mono text-sm"
        >
          {excerpt.data.lines.map((line, index) => {
            const number = (excerpt.data?.firstLine ?? 1) + index
            const isHere = number === excerpt.data?.line
            return (
              <li
                key={number}
                aria-current={isHere ? 'location' : undefined}
                className={`flex min-w-max whitespace-pre ${isHere ? 'bg-warning-soft' : ''}`}
              >
                <span
                  className={`w-12 shrink-0 pr-2 text-right select-none ${isHere ? 'text-warning' : 'text-muted'}`}
                >
                  {isHere ? '› ' : ''}
                  {number}
                </span>
                <VisibleText text={line.slice(0, 1000)} className="pr-3" />
              </li>
            )
          })}
        </ol>
      )}
    </div>
  )
}

/** Not in reports, because the file is on another machine. */
function EditorLink({ excerpt }: { excerpt: SourceExcerpt }) {
  const { editor } = useBackend()
  const { file, line, column, isDeleted } = excerpt
  if (editor === undefined || isDeleted === true) return null
  const href = editor
    .replace('{file}', encodeURI(file))
    .replace('{line}', String(line))
    .replace('{column}', String(column))
  return (
    <a href={href} className="text-accent hover:underline">
      Open in editor
    </a>
  )
}

export function SourceTab({ run, detail: { site } }: TabProps) {
  return (
    <div className="p-3">
      {site === undefined ? (
        <p className="text-muted">The line that began this step was not recorded.</p>
      ) : (
        <Field path="site">
          <SourceView run={run} site={site} />
        </Field>
      )}
    </div>
  )
}
