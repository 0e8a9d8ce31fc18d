import { Tabs as Base } from '@base-ui/react/tabs'
import type { ReactNode } from 'react'

interface TabsProps {
  readonly label: string
  readonly value: string
  readonly onChange: (value: string) => void

  readonly tabs: readonly {
    readonly value: string
    readonly title: ReactNode
    /** Rendered only while selected. */
    readonly content: ReactNode
  }[]
}

export const Tabs = ({ label, value, onChange, tabs }: TabsProps) => (
  <Base.Root
    value={value}
    onValueChange={(next) => onChange(String(next))}
    className="flex min-h-0 flex-1 flex-col"
  >
    <div className="flex shrink-0 items-center border-b border-line pr-2">
      <Base.List aria-label={label} className="flex min-w-0 flex-1 gap-0.5 overflow-x-auto px-2">
        {tabs.map((tab) => (
          <Base.Tab
            key={tab.value}
            value={tab.value}
            className="-mb-px inline-flex h-8 shrink-0 items-center gap-1.5 border-b-2 border-transparent px-2.5 whitespace-nowrap text-muted hover:text-text data-[active]:border-accent data-[active]:text-text"
          >
            {tab.title}
          </Base.Tab>
        ))}
      </Base.List>
    </div>
    {tabs.map((tab) => (
      <Base.Panel
        key={tab.value}
        value={tab.value}
        className="min-h-0 flex-1 overflow-auto"
        tabIndex={0}
      >
        {tab.content}
      </Base.Panel>
    ))}
  </Base.Root>
)
