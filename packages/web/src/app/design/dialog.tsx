import { Dialog as Base } from '@base-ui/react/dialog'
import type { ReactNode } from 'react'
import { classes } from './classes.js'

export interface DialogProps {
  readonly title: string
  readonly isOpen: boolean
  readonly onClose: () => void
  readonly size?: 'small' | 'large'
  readonly children: ReactNode
}

/** Something that is done before anything else; Escape and a click beside it close it. */
export function Dialog({ title, isOpen, onClose, size = 'small', children }: DialogProps) {
  return (
    <Base.Root open={isOpen} onOpenChange={(open) => !open && onClose()}>
      <Base.Portal>
        <Base.Backdrop className="fixed inset-0 bg-black/40" />
        <Base.Popup
          className={classes(
            'fixed top-[10vh] left-1/2 flex max-h-[80vh] w-[calc(100vw-2rem)] -translate-x-1/2 flex-col rounded-md border border-line-strong bg-surface text-text shadow-lg',
            size === 'small' ? 'max-w-140' : 'max-w-240',
          )}
        >
          <Base.Title className="shrink-0 border-b border-line px-4 py-2.5 text-lg font-medium">
            {title}
          </Base.Title>
          <div className="min-h-0 overflow-auto p-4">{children}</div>
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  )
}
