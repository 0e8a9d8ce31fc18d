import { Dialog as Base } from '@base-ui/react/dialog'
import {
  type ComponentProps,
  createContext,
  type ReactNode,
  type RefObject,
  use,
  useCallback,
  useLayoutEffect,
  useRef,
} from 'react'
import { classes } from './classes.js'
import { CloseIcon } from './icons.js'

const POPUP =
  'fixed inset-0 z-40 flex flex-col bg-surface text-text outline-none sm:inset-auto sm:left-1/2 sm:w-[calc(100vw-2rem)] sm:-translate-x-1/2 sm:rounded-md sm:border sm:border-line-strong sm:shadow-lg'

interface DialogProps {
  readonly title: string
  readonly description?: ReactNode
  readonly isOpen: boolean
  readonly onClose: () => void
  readonly size?: 'small' | 'large'
  readonly footer?: ReactNode
  /** Focused when the dialog opens; default: the first focusable element. */
  readonly initialFocus?: RefObject<HTMLElement | null>
  readonly children: ReactNode
}

/** Closes on Escape or a click outside, and restores the focus. Full screen on a phone. */
export function Dialog(props: DialogProps) {
  const { title, description, isOpen, onClose, size = 'small' } = props
  const { footer, initialFocus, children } = props
  const back = useRef<HTMLElement>(null)
  useLayoutEffect(() => {
    if (isOpen) back.current = focusedNow()
  }, [isOpen])
  return (
    <Base.Root open={isOpen} onOpenChange={(open) => !open && onClose()}>
      <Base.Portal>
        <Base.Backdrop className="fixed inset-0 z-40 bg-veil" />
        <Base.Popup
          {...(initialFocus && { initialFocus })}
          finalFocus={() => giveBack(back.current)}
          className={classes(
            POPUP,
            'sm:top-[8vh] sm:max-h-[84vh]',
            size === 'small' ? 'sm:max-w-140' : 'sm:max-w-240',
          )}
        >
          <div className="shrink-0 border-b border-line py-2.5 pr-11 pl-4">
            <Base.Title className="text-lg font-medium">{title}</Base.Title>
            {description !== undefined && (
              <Base.Description className="text-muted">{description}</Base.Description>
            )}
          </div>
          <div className="min-h-0 flex-1 overflow-auto p-4">{children}</div>
          {footer !== undefined && (
            <div className="flex shrink-0 flex-wrap justify-end gap-2 border-t border-line px-4 py-2.5">
              {footer}
            </div>
          )}
          {/* Comes last, so that the first focus goes to the content. */}
          <Base.Close
            aria-label="Close"
            className="absolute top-2 right-2 inline-flex size-7 shrink-0 items-center justify-center rounded text-muted hover:bg-sunken hover:text-text"
          >
            <CloseIcon />
          </Base.Close>
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  )
}

function focusedNow(): HTMLElement | null {
  const { activeElement, body } = document
  return activeElement instanceof HTMLElement && activeElement !== body
    ? activeElement
    : document.getElementById('main')
}

/** Restores the focus. Focuses the page content itself, not the first control in it. */
function giveBack(element: HTMLElement | null): HTMLElement | false | true {
  if (element?.id !== 'main') return element ?? true
  element.focus()
  return false
}

const FocusContext = createContext<(field: HTMLElement | null) => void>(() => {})

interface FinderDialogProps {
  readonly label: string
  readonly isOpen: boolean
  readonly onClose: () => void
  readonly onClosed?: () => void
  readonly className: string
  readonly children: ReactNode
}

/**
 * A dialog with one field and a list. Focuses the field as soon as it exists, because the dialog would
 * do so a frame later and lose the first letter of a fast typist.
 */
export function FinderDialog(props: FinderDialogProps) {
  const { label, isOpen, onClose, onClosed, className, children } = props
  const back = useRef<HTMLElement>(null)
  const takeFocus = useCallback((field: HTMLElement | null): void => {
    if (field === null) return
    back.current = focusedNow()
    field.focus()
  }, [])
  return (
    <Base.Root
      open={isOpen}
      onOpenChange={(open) => !open && onClose()}
      onOpenChangeComplete={(open) => !open && onClosed?.()}
    >
      <Base.Portal>
        <Base.Backdrop className="fixed inset-0 z-40 bg-veil" />
        <Base.Popup
          aria-label={label}
          finalFocus={() => giveBack(back.current)}
          className={classes(POPUP, className)}
        >
          <FocusContext value={takeFocus}>{children}</FocusContext>
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  )
}

interface FinderInputProps extends Omit<ComponentProps<'input'>, 'list' | 'onChange'> {
  readonly label: string
  readonly list: string
  readonly option: string | undefined
  readonly onChange: (text: string) => void
}

export const FinderInput = ({ label, list, option, onChange, ...rest }: FinderInputProps) => (
  <input
    ref={use(FocusContext)}
    role="combobox"
    aria-label={label}
    aria-expanded="true"
    aria-controls={list}
    aria-activedescendant={option}
    aria-autocomplete="list"
    autoComplete="off"
    spellCheck={false}
    onChange={(event) => onChange(event.target.value)}
    className="h-11 min-w-0 flex-1 bg-transparent px-4 text-lg focus-visible:outline-none"
    {...rest}
  />
)
