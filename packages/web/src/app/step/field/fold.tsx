import { useState, type ReactNode } from 'react'
import { useFieldLinks } from './field-links.js'
import { keysWithin } from './field-path.js'

export interface FoldProps {
  /** A link to it, or to something in it, opens it. */
  readonly path: string
  readonly title: ReactNode
  readonly className?: string
  readonly summaryClassName?: string
  /** Drawn only while it is open. */
  readonly children: ReactNode
}

const SUMMARY = 'cursor-pointer text-sm'

/** Something that is opened when it is wanted. */
export function Fold({ path, title, className, summaryClassName = SUMMARY, children }: FoldProps) {
  const isLinked = keysWithin(path, useFieldLinks().field) !== undefined
  const [toggled, setToggled] = useState<boolean>()
  const isOpen = toggled ?? isLinked
  return (
    <details
      open={isOpen}
      onToggle={(event) => {
        // Also told of when a link opened it, which nobody decided.
        if (event.currentTarget.open !== isOpen) setToggled(event.currentTarget.open)
      }}
      className={className}
    >
      <summary className={summaryClassName}>{title}</summary>
      {isOpen && children}
    </details>
  )
}
