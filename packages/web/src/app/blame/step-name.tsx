import { KindMark } from '../design/kind-mark.js'
import { useRows, type Run } from '../run/use-run.js'
import { StepLink } from '../step/step-link.js'
import { VisibleText } from '../step/text/visible-text.js'

/** A searched step: leads there. One that the run does not have any more is only named. */
export function StepName({ run, label }: { readonly run: Run; readonly label: string }) {
  useRows(run.rows)
  const place = run.rows.placeOf(label)
  if (place < 0)
    return (
      <span className="text-muted" title="This run has no such step.">
        step {label}
      </span>
    )
  const { kind, title } = run.rows.at(place)
  return (
    <span className="flex max-w-full min-w-0 items-center gap-1.5">
      <KindMark kind={kind} />
      <span className="shrink-0 whitespace-nowrap [&>a]:inline-flex [&>a]:h-6 [&>a]:items-center">
        <StepLink label={label}>step {label}</StepLink>
      </span>
      <span className="min-w-0 truncate" title={title}>
        <VisibleText text={title.length > 160 ? `${title.slice(0, 160)}…` : title} />
      </span>
    </span>
  )
}
