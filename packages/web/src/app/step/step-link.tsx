import type { ReactNode } from 'react'
import { useSelection } from '../run/use-selection.js'
import { useLinkTo } from './use-link-to.js'

/** Leads to another step of the same run. */
export function StepLink({
  label,
  children,
}: {
  readonly label: string
  readonly children: ReactNode
}) {
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
