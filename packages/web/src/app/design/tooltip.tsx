import { Tooltip as Base } from '@base-ui/react/tooltip'
import type { ReactElement, ReactNode } from 'react'

export interface TooltipProps {
  readonly text: ReactNode
  readonly children: ReactElement<Record<string, unknown>>
}

/** Says more about what is pointed at or focused. Never the only place something is said. */
export function Tooltip({ text, children }: TooltipProps) {
  return (
    <Base.Root>
      <Base.Trigger render={children} delay={500} />
      <Base.Portal>
        <Base.Positioner sideOffset={6} className="z-50">
          <Base.Popup className="max-w-80 rounded border border-line-strong bg-raised px-2 py-1 text-sm text-text shadow-md">
            {text}
          </Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  )
}
