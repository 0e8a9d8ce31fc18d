import { type BranchEdit, parseJson } from '@retake/tape'
import { valueTexts } from '@retake/tape/present'
import { useQuery } from '@tanstack/react-query'
import type { EditableText } from '../../api/run-repository.js'
import type { RunHead } from '../../model/run-source.js'
import { useBackend } from '../sources/backend.js'
import { readFieldPath } from '../values/field-path.js'
import { asClipped } from '../values/json-tree.js'
import { indexed } from '../values/text-parts.js'
import { VisibleText } from '../values/text.js'

const SHOWN = 400

/** The change that a fork made at its step: the recorded value of the parent and the new value. */
export function EditedNote({ head, label }: { head: RunHead; label: string }) {
  const { branch, parent } = head
  if (branch?.kind !== 'fork' || branch.at !== label || parent === undefined) return null
  if (branch.edits.length === 0) return <p className="mt-1 text-sm">Sent again, unchanged.</p>
  return (
    <ul aria-label="Changed by this fork" className="mt-1 flex flex-col gap-0.5 text-sm">
      {indexed(branch.edits).map(({ index, item }) => (
        <Edit key={index} edit={item} parent={parent.run} label={label} />
      ))}
    </ul>
  )
}

function Edit(props: {
  readonly edit: BranchEdit
  readonly parent: string
  readonly label: string
}) {
  const { edit, parent, label } = props
  const { live } = useBackend()
  const { data: before } = useQuery({
    queryKey: ['editable', parent, label],
    queryFn: async () => (await live?.editable(parent, label)) ?? {},
    enabled: live !== undefined && edit.target !== 'draw',
  })
  const recorded = edit.target === 'request' ? before?.request : before?.answer
  const clipped = asClipped(edit.value)
  const [old, now = ''] = valueTexts([
    recorded && valueAt(recorded, edit.path),
    clipped === undefined ? edit.value : `${clipped.head}…`,
  ])
  return (
    <li className="line-clamp-4 border-l-2 border-accent pl-2 font-mono wrap-anywhere">
      <span className="text-muted">
        {edit.target === 'answer' ? '' : `${edit.target} `}
        {edit.path ?? (edit.target === 'answer' ? 'answer' : '')}{' '}
      </span>
      {old !== undefined && (
        <>
          <del className="text-danger">
            <VisibleText text={old.slice(0, SHOWN)} />
          </del>
          <span className="text-muted"> → </span>
        </>
      )}
      <ins className="text-good no-underline">
        <VisibleText text={now.slice(0, SHOWN)} />
      </ins>
    </li>
  )
}

/** The recorded value at a path; undefined if it is missing. */
export function valueAt(
  { form, text }: Pick<EditableText, 'form' | 'text'>,
  path: string | undefined,
): unknown {
  let value: unknown = form === 'json' ? parseJson(text) : text
  if (path === undefined) return value
  for (const key of readFieldPath(path.replaceAll(/\[(\d+)\]/g, '.$1'))) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined
    value = (value as Record<string, unknown>)[key]
  }
  return value
}
