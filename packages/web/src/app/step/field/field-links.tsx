import { createContext, use, type ReactNode } from 'react'
import { LinkIcon } from '../../design/icons.js'

/** The field a link points to, and how to get a link to another one. */
export interface FieldLinks {
  readonly field: string | undefined
  readonly copyLink: (path: string) => void
}

const FieldContext = createContext<FieldLinks>({ field: undefined, copyLink: () => {} })
export const FieldLinksProvider = FieldContext.Provider
export const useFieldLinks = (): FieldLinks => use(FieldContext)

/** Brings what a link points to onto the screen when it is drawn. */
export const scrollHere = (element: HTMLElement | null): void =>
  element?.scrollIntoView({ block: 'center' })

export const MARKED = 'bg-warning-soft outline-2 outline-warning'

export interface FieldProps {
  readonly path: string
  /** Links to something in it, which is not shown on its own, lead here too. */
  readonly isWhole?: boolean
  /** Stands in a line of text. */
  readonly isInline?: boolean
  readonly className?: string
  readonly children: ReactNode
}

/** A value that has an address of its own: marked when the link points to it. */
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

/** Seen when the field is pointed at or the button has the focus. */
export function CopyFieldLink({ path, className = '' }: Pick<FieldProps, 'path' | 'className'>) {
  const { copyLink } = useFieldLinks()
  return (
    <button
      type="button"
      title="Copy link to this"
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
