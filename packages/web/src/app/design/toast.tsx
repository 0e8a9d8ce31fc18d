import { useState } from 'react'
import { explainError } from '../sources/backend-error.js'
import { Store, useStore } from './store.js'
import { Button, IconButton } from './button.js'
import { classes } from './classes.js'
import { CheckIcon, CloseIcon, CopyIcon } from './icons.js'

interface Toast {
  readonly id: number
  readonly text: string
  readonly isError: boolean
}

const SHOWN_MS = 5000
const MOST = 4
const toasts = new Store<readonly Toast[]>([])
let lastId = 0

const close = (id: number): void => toasts.set(toasts.get().filter((toast) => toast.id !== id))

/** Shows a message in a corner, which screen readers announce. Errors stay until closed. */
export function showToast(text: string, isError = false): void {
  const id = ++lastId
  toasts.set([...toasts.get(), { id, text, isError }].slice(-MOST))
  if (!isError) setTimeout(() => close(id), SHOWN_MS)
}

export const showError = (error: unknown): void => showToast(explainError(error).what, true)

/** Mounted once and permanently, so that screen readers announce messages. */
export function Toasts() {
  const shown = useStore(toasts)
  return (
    <output
      aria-label="Messages"
      className="pointer-events-none fixed right-3 bottom-9 left-3 z-50 flex flex-col items-end gap-2"
    >
      {shown.map(({ id, text, isError }) => (
        <div
          key={id}
          className={classes(
            'pointer-events-auto flex max-w-100 items-center gap-2 rounded-md border bg-raised py-1 pr-1 pl-3 text-text shadow-lg',
            isError ? 'border-danger' : 'border-line-strong',
          )}
        >
          <span className="min-w-0 break-words">{text}</span>
          <button
            type="button"
            aria-label="Close message"
            className="inline-flex size-7 shrink-0 items-center justify-center rounded text-muted hover:bg-sunken hover:text-text"
            onClick={() => close(id)}
          >
            <CloseIcon />
          </button>
        </div>
      ))}
    </output>
  )
}

/** False if the browser does not allow copying. */
async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    // Fallback for pages without clipboard access, such as local files in some browsers.
    const before = document.activeElement
    const field = document.createElement('textarea')
    field.value = text
    field.style.position = 'fixed'
    field.style.opacity = '0'
    document.body.append(field)
    field.select()
    try {
      return document.execCommand('copy')
    } finally {
      field.remove()
      if (before instanceof HTMLElement) before.focus()
    }
  }
}

export async function copyWithToast(
  what: string,
  text: string | (() => string | Promise<string>),
): Promise<boolean> {
  try {
    const isDone = await copyText(typeof text === 'string' ? text : await text())
    if (isDone) showToast(`Copied ${what}`.trim())
    else showToast(`The browser did not allow copying ${what || 'here'}.`, true)
    return isDone
  } catch (error) {
    const { message } = error as Error
    showToast(what === '' ? message : `Could not copy ${what}: ${message}`, true)
    return false
  }
}

interface CopyButtonProps {
  readonly text: string | (() => string | Promise<string>)
  readonly label: string
  readonly showsLabel?: boolean
}

export function CopyButton({ text, label, showsLabel = false }: CopyButtonProps) {
  const [isCopied, setIsCopied] = useState(false)
  const copy = async (): Promise<void> => {
    const isDone = await copyWithToast('', text)
    setIsCopied(isDone)
    if (isDone) setTimeout(() => setIsCopied(false), 1500)
  }
  const icon = isCopied ? <CheckIcon /> : <CopyIcon />
  if (!showsLabel) return <IconButton label={label} icon={icon} onClick={() => void copy()} />
  return (
    <Button onClick={() => void copy()}>
      {icon}
      {label}
    </Button>
  )
}

export const CopyCommand = ({ command }: { command: string }) => (
  <span className="inline-flex max-w-full items-center gap-1.5 self-start rounded border border-line bg-raised py-0.5 pr-0.5 pl-2">
    <code className="min-w-0 font-mono text-sm wrap-anywhere">{command}</code>
    <CopyButton text={command} label="Copy the command" />
  </span>
)
