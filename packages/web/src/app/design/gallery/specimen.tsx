import type { ReactNode } from 'react'

/** One component in several states. */
export function Specimen({
  title,
  children,
}: {
  readonly title: string
  readonly children: ReactNode
}) {
  return (
    <section className="flex flex-col gap-1.5">
      <h3 className="text-sm text-muted">{title}</h3>
      <div className="flex flex-wrap items-center gap-2">{children}</div>
    </section>
  )
}

export const LONG =
  'A text that is much longer than the place it has, so that one sees whether it is cut, wraps or pushes others away'
