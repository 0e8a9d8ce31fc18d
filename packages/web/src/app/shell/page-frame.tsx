import { Link, type LinkProps } from '@tanstack/react-router'
import { type ReactNode, useEffect, useRef, useState } from 'react'

import { isOver, useJobs } from '../change/jobs.js'
import { ApprovalsLink, useApprovals } from '../change/waiting-approvals.js'
import { keysOf, useAllCommands, useKeySettings } from '../commands/commands.js'
import { buttonLook, IconButton, RunLink } from '../design/button.js'
import {
  CommandIcon,
  HelpIcon,
  MoonIcon,
  ScreenIcon,
  SearchIcon,
  SunIcon,
} from '../design/icons.js'
import { Menu } from '../design/menu.js'
import { useOfferedRun } from '../run/data/open-run.js'
import type { Run } from '../run/data/use-run.js'
import { SearchNote } from '../search/search-dialog.js'
import { type ConnectionChange, useBackend } from '../sources/backend.js'
import { type Theme, useTheme } from './theme.js'

const THEMES: readonly { id: Theme; title: string; icon: React.ReactNode }[] = [
  { id: 'light', title: 'Light', icon: <SunIcon /> },
  { id: 'dark', title: 'Dark', icon: <MoonIcon /> },
  { id: 'system', title: 'System', icon: <ScreenIcon /> },
]

function ThemeMenu() {
  const [theme, setTheme] = useTheme()
  const icon = THEMES.find(({ id }) => id === theme)?.icon
  return (
    <Menu
      trigger={<IconButton label="Theme" icon={icon} />}
      items={THEMES.map((each) => ({
        ...each,
        isChosen: each.id === theme,
        run: () => setTheme(each.id),
      }))}
    />
  )
}

function StatusLine({ children }: { children?: ReactNode }) {
  const backend = useBackend()
  const [connection, setConnection] = useState<ConnectionChange>()
  useEffect(
    () => backend.watch((change) => change.type === 'connection' && setConnection(change)),
    [backend],
  )
  const { state, error: lost } = connection ?? {}
  const busy = useJobs().filter((job) => !isOver(job))
  return (
    <footer className="flex h-6 shrink-0 items-center gap-4 border-t border-line bg-raised px-3 text-sm whitespace-nowrap text-muted">
      <div className="min-w-0 flex-1 truncate">{children}</div>
      <SearchNote />
      {busy.map(({ id, kind, name, run, state: jobState, written }) => {
        const words = `${kind} ${name ?? run} ${jobState === 'waiting' ? 'waits' : 'runs'}`
        return written ? (
          <RunLink key={id} run={run} className="text-accent underline">
            {words}
          </RunLink>
        ) : (
          <span key={id}>{words}</span>
        )
      })}
      <output className="contents">
        {state === 'lost' && (
          <span className="-mr-3 flex h-full items-center bg-warning-soft px-3 text-warning">
            {lost === undefined
              ? 'Connection lost, trying again…'
              : `${lost.what} ${lost.fix ?? ''}`}
          </span>
        )}
      </output>
    </footer>
  )
}

interface Crumb {
  readonly title: string
  readonly link: Pick<LinkProps, 'to' | 'params' | 'search'>
}

const CRUMB = 'flex min-w-0 items-center gap-1.5 max-sm:hidden'
const CRUMB_LINK = 'truncate text-muted hover:text-accent'

interface PageFrameProps {
  readonly title: ReactNode
  /** Title of the browser tab, if `title` is not plain text. */
  readonly documentTitle?: string
  readonly crumbs?: readonly Crumb[]
  readonly run?: Run | undefined
  readonly actions?: ReactNode
  readonly status?: ReactNode
  readonly children: ReactNode
}

export function PageFrame(props: PageFrameProps) {
  const { title, crumbs = [], run, actions, status, children } = props
  const backend = useBackend()
  const main = useRef<HTMLElement>(null)
  const name = props.documentTitle ?? (typeof title === 'string' ? title : backend.name)
  useOfferedRun(run)
  const waiting = useApprovals().length
  useEffect(() => {
    document.title = `${waiting === 0 ? '' : `(${waiting}) `}${name} · Retake`
  }, [name, waiting])
  return (
    <div className="flex h-dvh flex-col">
      <button
        type="button"
        className="sr-only focus:not-sr-only focus:fixed focus:top-1 focus:left-1 focus:z-50 focus:rounded focus:border focus:border-accent focus:bg-surface focus:px-3 focus:py-1"
        onClick={() => main.current?.focus()}
      >
        Skip to content
      </button>
      <header className="flex min-h-10 shrink-0 flex-wrap items-center gap-x-3 border-b border-line bg-raised px-3 max-sm:px-2">
        <nav aria-label="Breadcrumb" className="min-w-0 flex-1">
          <ol className="flex h-10 items-center gap-1.5 whitespace-nowrap">
            <li className="shrink-0 font-semibold">
              {backend.onlyRun === undefined ? (
                <Link to="/" className="rounded py-1 hover:text-accent">
                  Retake
                </Link>
              ) : (
                'Retake'
              )}
            </li>
            {backend.parent && (
              <li className={CRUMB}>
                <Separator />
                <a href={backend.parent.href} className={CRUMB_LINK}>
                  {backend.parent.title}
                </a>
              </li>
            )}
            {crumbs.map((crumb) => (
              <li key={crumb.title} className={CRUMB}>
                <Separator />
                <Link {...crumb.link} className={CRUMB_LINK}>
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
            {run !== undefined && backend.parent?.run && (
              <a
                href={backend.parent.run.href.replace('{run}', encodeURIComponent(run.id))}
                className={buttonLook()}
                // Adds the step that is open now.
                onClick={({ currentTarget }) => (currentTarget.search = location.search)}
              >
                {backend.parent.run.title}
              </a>
            )}
          </div>
        )}
        <ApprovalsLink open={run?.id} />
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

interface CommandButtonProps {
  /** Id of the command. Renders nothing if it does not exist. */
  readonly command: string
  readonly icon: ReactNode
}

function CommandButton({ command: id, icon }: CommandButtonProps) {
  const command = useAllCommands().find((each) => each.id === id)
  const [settings] = useKeySettings()
  if (command === undefined) return null
  return (
    <IconButton
      label={command.title}
      icon={icon}
      keys={keysOf(command, settings)[0]}
      disabled={command.disabled !== undefined}
      onClick={command.run}
    />
  )
}
