import { clock, plural, bytesText } from '@retake/tape/present'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { FileTouch } from '../../model/run-source.js'
import { TextButton } from '../design/button.js'
import { Badge } from '../design/badge.js'
import { QueryNote } from '../design/notes.js'
import {
  Field,
  FieldSection,
  splitAtMoment,
  StepLink,
  type TabProps,
  useFieldLinks,
} from '../values/field.js'
import { VisibleText } from '../values/text.js'

const PAGE = 300

export function FilesTab({ run, detail }: TabProps) {
  const files = useQuery({
    queryKey: ['files', run.id, run.head.events],
    queryFn: () => run.source.files(),
    placeholderData: keepPreviousData,
  })
  if (files.data === undefined) return <QueryNote what="the files" error={files.error} />
  const { before } = splitAtMoment(files.data, detail)
  const here = files.data.filter(({ step }) => step === detail.label)
  const earlier = before.filter(({ step }) => step !== detail.label)
  return (
    <div className="flex flex-col gap-3 p-3">
      <FieldSection title={`During this step, ${plural(here.length, 'file operation')}`}>
        <Touches touches={here} />
      </FieldSection>
      <FieldSection title={`Before, ${plural(earlier.length, 'file operation')}`}>
        <Touches touches={earlier.toReversed()} isWithStep />
      </FieldSection>
    </div>
  )
}

function Touches(props: { readonly touches: readonly FileTouch[]; readonly isWithStep?: boolean }) {
  const { touches, isWithStep = false } = props
  const [requested, setRequested] = useState(PAGE)
  const { field } = useFieldLinks()
  const linked = touches.findIndex(({ seq }) => field === `file.${seq}`)
  const shown = Math.max(requested, linked + 1)
  if (touches.length === 0) return <p className="text-muted">No file was touched.</p>
  return (
    <>
      <ul className="font-mono text-sm">
        {touches.slice(0, shown).map(({ seq, at, call, access, path, ok, error, bytes, step }) => (
          <li
            key={seq}
            className="flex gap-2 py-0.5 [contain-intrinsic-size:auto_1.25rem] [content-visibility:auto]"
          >
            <span className="w-16 shrink-0 text-right text-muted">{clock(at)}</span>
            <span className="w-14 shrink-0" title={call}>
              {access === 'other' ? <VisibleText text={call.replace(/^fs\./, '')} /> : access}
            </span>
            <Field path={`file.${seq}`} className="flex-1 [overflow-wrap:anywhere]">
              <VisibleText text={path} />{' '}
              {bytes !== undefined && <span className="text-muted">{bytesText(bytes)} </span>}
              {!ok && (
                <Badge tone="danger">
                  <VisibleText text={error ?? 'failed'} />
                </Badge>
              )}
            </Field>
            {isWithStep && step !== undefined && (
              <span className="shrink-0 font-sans">
                <StepLink label={step}>step {step}</StepLink>
              </span>
            )}
          </li>
        ))}
      </ul>
      {touches.length > shown && (
        <TextButton className="text-sm" onClick={() => setRequested(shown + 2000)}>
          Show more, {touches.length - shown} left
        </TextButton>
      )}
    </>
  )
}
