import { Menu as Base } from '@base-ui/react/menu'
import type { ReactElement, ReactNode } from 'react'
import { Kbd } from './button.js'

interface MenuItem {
  readonly id: string
  readonly title: ReactNode
  readonly icon?: ReactNode
  readonly keys?: string | undefined
  readonly disabled?: string | undefined
  /** Set for items that are alternatives; true for the current one. */
  readonly isChosen?: boolean
  readonly run: () => void
}

interface MenuProps {
  readonly trigger: ReactElement<Record<string, unknown>>
  readonly items: readonly MenuItem[]
}

export const Menu = ({ trigger, items }: MenuProps) => (
  <Base.Root>
    <Base.Trigger render={trigger} />
    <Base.Portal>
      <Base.Positioner sideOffset={4} align="end" className="z-50 outline-none">
        <Base.Popup className="min-w-40 rounded-md border border-line-strong bg-surface py-1 text-text shadow-lg outline-none">
          {items.map((item) => (
            <Base.Item
              key={item.id}
              disabled={item.disabled !== undefined}
              onClick={item.run}
              aria-current={item.isChosen === true ? 'true' : undefined}
              className="mx-1 flex min-h-7 items-center gap-2 rounded px-2 py-1 data-[disabled]:text-muted data-[highlighted]:bg-accent-soft"
            >
              {item.icon}
              <span className="flex-1">
                {item.title}
                {item.disabled !== undefined && (
                  <span className="block text-sm text-muted">{item.disabled}</span>
                )}
              </span>
              {item.isChosen === true && <span aria-hidden="true">✓</span>}
              {item.keys !== undefined && <Kbd keys={item.keys} />}
            </Base.Item>
          ))}
        </Base.Popup>
      </Base.Positioner>
    </Base.Portal>
  </Base.Root>
)
