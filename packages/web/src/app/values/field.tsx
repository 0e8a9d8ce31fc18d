import { useParams, useRouter } from '@tanstack/react-router'
import { createContext, type ReactNode, use, useCallback, useMemo, useState } from 'react'
import type { StepDetail } from '../../model/run-source.js'
import { LinkIcon } from '../design/icons.js'
import { copyWithToast } from '../design/toast.js'
import type { Run } from '../run/data/use-run.js'
import { useSelection } from '../run/data/use-selection.js'
import { keysWithin } from './field-path.js'

/** The event of the answer to a step, or else its first event. */
export const fieldMoment = (detail: Pick<StepDetail, 'seq' | 'answeredSeq'>): number =>
  detail.answeredSeq ?? detail.seq

export function splitAtMoment<T extends { readonly seq: number }>(
  things: readonly T[],
  detail: Pick<StepDetail, 'seq' | 'answeredSeq'>,
): { readonly before: readonly T[]; readonly after: readonly T[] } {
  const moment = fieldMoment(detail)
  const split = things.findIndex(({ seq }) => seq > moment)
  return split < 0
    ? { before: things, after: [] }
    : { before: things.slice(0, split), after: things.slice(split) }
}

interface FoldProps {
  /** A link to this path or below opens the fold. */
  readonly path: string
  readonly title: ReactNode
  readonly className?: string
  readonly summaryClassName?: string
  readonly children: ReactNode
}

const SUMMARY = 'cursor-pointer text-sm'

export function Fold({ path, title, className, summaryClassName = SUMMARY, children }: FoldProps) {
  const isLinked = keysWithin(path, useFieldLinks().field) !== undefined
  const [toggled, setToggled] = useState<boolean>()
  const isOpen = toggled ?? isLinked
  return (
    <details
      open={isOpen}
      onToggle={(event) => {
        // Also fires when a link opens the fold, which is not a choice of the user.
        if (event.currentTarget.open !== isOpen) setToggled(event.currentTarget.open)
      }}
      className={className}
    >
      <summary className={summaryClassName}>{title}</summary>
      {isOpen && children}
    </details>
  )
}

export const EventFold = ({ path, title, children }: Omit<FoldProps, 'className'>) => (
  <li className="[contain-intrinsic-size:auto_1.5rem] [content-visibility:auto]">
    <Field path={path} className="pr-7">
      <Fold
        path={path}
        summaryClassName="flex min-h-6 cursor-pointer items-center gap-2 font-mono text-sm hover:bg-sunken"
        title={title}
      >
        {children}
      </Fold>
    </Field>
  </li>
)

interface FieldLinks {
  readonly field: string | undefined
  readonly copyLink: (path: string) => void
}

const FieldContext = createContext<FieldLinks>({ field: undefined, copyLink: () => {} })
export const useFieldLinks = (): FieldLinks => use(FieldContext)

/** A ref callback. Returns nothing, because React would call a returned promise as cleanup. */
export function scrollHere(element: HTMLElement | null): void {
  element?.scrollIntoView({ block: 'center' })
}

export const MARKED = 'bg-warning-soft outline-2 outline-warning'

interface FieldProps {
  readonly path: string
  /** True if links to parts that are not shown separately also lead here. */
  readonly isWhole?: boolean
  readonly isInline?: boolean
  readonly className?: string
  readonly children: ReactNode
}

/** A value with its own address. Marked if the address points to it. */
export function Field(props: FieldProps) {
  const { path, isWhole = false, isInline = false, className = '', children } = props
  const { field } = useFieldLinks()
  const isMarked = field === path || (isWhole && field?.startsWith(`${path}.`) === true)
  const Box = isInline ? 'span' : 'div'
  return (
    <Box
      ref={isMarked ? scrollHere : undefined}
      data-field={path}
      aria-current={isMarked ? 'location' : undefined}
      className={`group/field relative min-w-0 ${isMarked ? `${MARKED} rounded-sm` : ''} ${className}`}
    >
      {children}
      <CopyFieldLink path={path} className="absolute top-0.5 right-0.5" />
    </Box>
  )
}

/** Visible while the field is hovered or the button is focused. */
export function CopyFieldLink({ path, className = '' }: Pick<FieldProps, 'path' | 'className'>) {
  const { copyLink } = useFieldLinks()
  return (
    <button
      type="button"
      title="Copy link to this field"
      aria-label={`Copy link to ${path}`}
      className={`inline-flex size-5 items-center justify-center rounded-sm border border-line bg-surface text-muted opacity-0 group-hover/field:opacity-100 hover:text-text focus-visible:opacity-100 ${className}`}
      onClick={(event) => {
        event.stopPropagation()
        copyLink(path)
      }}
    >
      <LinkIcon />
    </button>
  )
}

export function StepLink({ label, children }: { label: string; children: ReactNode }) {
  const { select } = useSelection()
  const linkTo = useLinkTo()
  return (
    <a
      href={linkTo({ step: label })}
      className="text-accent underline underline-offset-2"
      onClick={(event) => {
        if (event.metaKey || event.ctrlKey || event.shiftKey) return
        event.preventDefault()
        select(label)
      }}
    >
      {children}
    </a>
  )
}

interface LinkTarget {
  readonly step: string
  readonly tab?: string | undefined
  readonly field?: string | undefined
}

export function useLinkTo(): (target: LinkTarget) => string {
  const router = useRouter()
  const { run } = useParams({ from: '/runs/$run' })
  return useCallback(
    ({ step, tab, field }) => {
      const { publicHref } = router.buildLocation({
        to: '/runs/$run',
        params: { run },
        search: { step, ...(tab !== undefined && { tab }), ...(field !== undefined && { field }) },
      })
      return new URL(router.history.createHref(publicHref), location.href).href
    },
    [router, run],
  )
}

interface SectionProps {
  readonly title: ReactNode
  /** If set, the section is a landmark. */
  readonly label?: string
  readonly children: ReactNode
}

export const FieldSection = ({ title, label, children }: SectionProps) => (
  <section aria-label={label} className="min-w-0">
    <h3 className="mb-1 border-b border-line pb-0.5 text-sm font-medium text-muted">{title}</h3>
    {children}
  </section>
)

interface LinkedFieldsProps {
  readonly label: string
  readonly tab: string | undefined
  /** The field in the address. */
  readonly field: string | undefined
  readonly children: ReactNode
}

/** Provides links to the fields of a step. */
export function LinkedFields({ label, tab, field, children }: LinkedFieldsProps) {
  const linkTo = useLinkTo()
  const links = useMemo(() => {
    const copyLink = (path: string): void =>
      void copyWithToast(`the link to ${path}`, linkTo({ step: label, tab, field: path }))
    return { field, copyLink }
  }, [field, linkTo, label, tab])
  return <FieldContext value={links}>{children}</FieldContext>
}

export interface TabProps {
  readonly run: Run
  readonly detail: StepDetail
}
