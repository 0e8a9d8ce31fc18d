import { clock, plural } from '@retake/tape/present'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { ConsolePart } from '../../model/run-source.js'
import { TextButton } from '../design/button.js'
import { QueryNote } from '../design/notes.js'
import { readFieldPath } from '../values/field-path.js'
import { Field, splitAtMoment, type TabProps, useFieldLinks } from '../values/field.js'
import { LongText, Lossy } from '../values/text.js'
import { Checkbox } from '../design/fields.js'

const PAGE = 400

/** The terminal output up to the answer of this step. */
export function ConsoleTab({ run, detail }: TabProps) {
  const [isLaterShown, setLaterShown] = useState(false)
  const [requested, setRequested] = useState(PAGE)
  const { field } = useFieldLinks()
  const parts = useQuery({
    queryKey: ['console', run.id, run.head.events],
    queryFn: () => run.source.console(),
    placeholderData: keepPreviousData,
  })
  if (parts.data === undefined) return <QueryNote what="the output" error={parts.error} />
  if (parts.data.length === 0) return <p className="p-3 text-muted">The agent printed nothing.</p>
  const linked = Number(readFieldPath(field ?? '')[1] ?? Number.NaN)
  const split = splitAtMoment(parts.data, detail)
  const [before, after] = [joinWrites(split.before), joinWrites(split.after)]
  const isLinked = ({ seqs }: ConsoleLine): boolean => seqs.includes(linked)
  const linkedBefore = before.findIndex(isLinked)
  const shown = Math.max(requested, linkedBefore < 0 ? 0 : before.length - linkedBefore)
  const isLater = isLaterShown || after.some(isLinked)
  return (
    <div className="p-3">
      <div className="mb-1.5 flex flex-wrap items-center gap-3 text-sm text-muted">
        <span>
          {before.length === 0
            ? 'No output up to this step'
            : `Output up to this step, ${plural(split.before.length, 'write')}`}
        </span>
        {before.length > shown && (
          <TextButton onClick={() => setRequested(shown + 2000)}>
            Show more, {plural(before.length - shown, 'earlier line')} left
          </TextButton>
        )}
      </div>
      <Output lines={before.slice(-shown)} linked={linked} />
      {after.length > 0 && (
        <div className="mt-2 border-t border-dashed border-line-strong pt-1.5">
          <div className="mb-1 text-sm text-muted">
            <Checkbox
              label={`Show later output, ${plural(split.after.length, 'write')}`}
              isChecked={isLater}
              onChange={setLaterShown}
            />
          </div>
          {isLater && (
            <div className="text-muted">
              <Output lines={after.slice(0, shown)} linked={linked} isLater />
              {after.length > shown && (
                <TextButton className="text-sm" onClick={() => setRequested(shown + 2000)}>
                  Show more
                </TextButton>
              )}
            </div>
          )}
        </div>
      )}
    </div>
  )
}

/** Consecutive writes to one stream, up to the end of a line. */
export interface ConsoleLine extends ConsolePart {
  readonly seqs: readonly number[]
}

const JOINED_MAX = 32_768

/** Joins output that was printed word by word into lines, as in a terminal. */
export function joinWrites(parts: readonly ConsolePart[]): ConsoleLine[] {
  const lines: { first: ConsolePart; last: ConsolePart; texts: string[]; seqs: number[] }[] = []
  let length = 0
  for (const part of parts) {
    const line = lines.at(-1)
    const isNext = line?.last.stream === part.stream && !line.last.text.endsWith('\n')
    if (line === undefined || !isNext || line.last.clipped || length > JOINED_MAX) {
      lines.push({ first: part, last: part, texts: [part.text], seqs: [part.seq] })
      length = part.text.length
    } else {
      line.last = { ...part, ...(line.last.isLossy && { isLossy: true }) }
      line.texts.push(part.text)
      line.seqs.push(part.seq)
      length += part.text.length
    }
  }
  return lines.map(({ first, last, texts, seqs }) => ({
    ...last,
    seq: first.seq,
    at: first.at,
    text: texts.join(''),
    seqs,
  }))
}

interface OutputProps {
  readonly lines: readonly ConsoleLine[]
  /** Number of the write in the address. */
  readonly linked: number
  readonly isLater?: boolean
}

const Output = ({ lines, linked, isLater = false }: OutputProps) => (
  <ol aria-label={isLater ? 'Later output' : 'Output'} className="font-mono text-sm">
    {lines.map((part) => (
      <li
        key={part.seq}
        className="flex gap-2 [contain-intrinsic-size:auto_1.25rem] [content-visibility:auto]"
      >
        <span className="w-18 shrink-0 text-right text-muted">{clock(part.at)}</span>
        <span className="w-6 shrink-0 text-danger">{part.stream === 'stderr' && 'err'}</span>
        <Field
          path={`console.${part.seqs.includes(linked) ? linked : part.seq}`}
          className="flex-1 whitespace-pre-wrap [overflow-wrap:anywhere]"
        >
          <LongText text={part.text.replace(/\r?\n$/, '')} look="terminal" />
          {part.isLossy && <Lossy />}
          {part.clipped && (
            <span className="text-muted"> … truncated; `retake export` writes all of it</span>
          )}
          {part.leftOut !== undefined && (
            <span className="text-muted">
              {plural(part.leftOut, 'write')} from here on are not shown; `retake export` writes all
              of them
            </span>
          )}
        </Field>
      </li>
    ))}
  </ol>
)
