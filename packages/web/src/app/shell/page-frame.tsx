import { Link, type LinkProps } from '@tanstack/react-router'
import { useEffect, useRef, type ReactNode } from 'react'
import { CommandIcon, HelpIcon, SearchIcon } from '../design/icons.js'
import type { Run } from '../run/use-run.js'
import { useHome } from '../sources/viewer-home.js'
import { CommandButton } from './command-button.js'
import { useOfferedRun } from './open-run.js'
import { StatusLine } from './status-line.js'
import { ThemeMenu } from './theme-menu.js'

export interface Crumb {
  readonly title: string
  readonly link: Pick<LinkProps, 'to' | 'params' | 'search'>
}

export interface PageFrameProps {
  /** What the page shows: the last of the crumbs, and its heading. */
  readonly title: ReactNode
  /** The title of the browser's tab, where `title` is more than text. */
  readonly documentTitle?: string
  /** What stands between the home and this page. */
  readonly crumbs?: readonly Crumb[]
  /** The run that the page is about: the palette and search find its steps. */
  readonly run?: Run | undefined
  readonly actions?: ReactNode
  /** One line at the bottom: what goes on. */
  readonly status?: ReactNode
  readonly children: ReactNode
}

/** What every page has: a bar above, the page, a line below. */
export function PageFrame(props: PageFrameProps) {
  const { title, crumbs = [], run, actions, status, children } = props
  const home = useHome()
  const main = useRef<HTMLElement>(null)
  const name = props.documentTitle ?? (typeof title === 'string' ? title : home.name)
  useOfferedRun(run)
  useEffect(() => {
    document.title = `${name} · Retake`
  }, [name])
  return (
    <div className="flex h-dvh flex-col">
      <button
        type="button"
        className="sr-only focus:not-sr-only focus:fixed focus:top-1 focus:left-1 focus:z-50 focus:rounded focus:border focus:border-accent focus:bg-surface focus:px-3 focus:py-1"
        onClick={() => main.current?.focus()}
      >
        Skip to the content
      </button>
      <header className="flex min-h-10 shrink-0 flex-wrap items-center gap-x-3 border-b border-line bg-raised px-3 max-sm:px-2">
        <nav aria-label="Where you are" className="min-w-0 flex-1">
          <ol className="flex h-10 items-center gap-1.5 whitespace-nowrap">
            <li className="shrink-0 font-semibold">
              {home.onlyRun === undefined ? (
                <Link to="/" className="rounded py-1 hover:text-accent">
                  Retake
                </Link>
              ) : (
                'Retake'
              )}
            </li>
            {crumbs.map((crumb) => (
              <li key={crumb.title} className="flex min-w-0 items-center gap-1.5 max-sm:hidden">
                <Separator />
                <Link {...crumb.link} className="truncate text-muted hover:text-accent">
                  {crumb.title}
                </Link>
              </li>
            ))}
            <li className="flex min-w-0 items-center gap-1.5">
              <Separator />
              <h1 className="min-w-0 truncate" aria-current="page">
                {title}
              </h1>
            </li>
          </ol>
        </nav>
        {actions !== undefined && (
          <div className="flex items-center gap-1.5 max-sm:order-last max-sm:w-full max-sm:overflow-x-auto max-sm:pb-1.5">
            {actions}
          </div>
        )}
        <div className="flex items-center">
          <CommandButton command="search" icon={<SearchIcon />} />
          <CommandButton command="palette" icon={<CommandIcon />} />
          <ThemeMenu />
          <CommandButton command="help" icon={<HelpIcon />} />
        </div>
      </header>
      <main ref={main} id="main" tabIndex={-1} className="min-h-0 flex-1">
        {children}
      </main>
      <StatusLine>{status}</StatusLine>
    </div>
  )
}

const Separator = () => (
  <span aria-hidden="true" className="shrink-0 text-muted">
    ›
  </span>
)
