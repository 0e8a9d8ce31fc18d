import { useState } from 'react'
import { Button } from './button.js'
import { copyText } from './copy-text.js'
import { IconButton } from './icon-button.js'
import { CheckIcon, CopyIcon } from './icons.js'
import { showToast } from './toast.js'

export interface CopyButtonProps {
  /** The text, or how to get it when it is asked for. */
  readonly text: string | (() => string | Promise<string>)
  /** What it copies: "Copy link". */
  readonly label?: string
  /** Shows the label; otherwise only a sign. */
  readonly showsLabel?: boolean
  readonly disabled?: boolean
}

/** Copies something and says so. */
export function CopyButton({
  text,
  label = 'Copy',
  showsLabel = false,
  disabled = false,
}: CopyButtonProps) {
  const [isCopied, setIsCopied] = useState(false)
  const copy = async (): Promise<void> => {
    const isDone = await copyAndTell(text)
    setIsCopied(isDone)
    if (isDone) setTimeout(() => setIsCopied(false), 1500)
  }
  const icon = isCopied ? <CheckIcon /> : <CopyIcon />
  if (!showsLabel)
    return <IconButton label={label} icon={icon} disabled={disabled} onClick={() => void copy()} />
  return (
    <Button disabled={disabled} onClick={() => void copy()}>
      {icon}
      {label}
    </Button>
  )
}

/** Copies and says whether that worked; also for commands. */
export async function copyAndTell(text: CopyButtonProps['text']): Promise<boolean> {
  try {
    const isDone = await copyText(typeof text === 'string' ? text : await text())
    if (isDone) showToast('Copied')
    else showToast('The browser does not allow copying here.', { tone: 'danger' })
    return isDone
  } catch (error) {
    showToast(error instanceof Error ? error.message : String(error), { tone: 'danger' })
    return false
  }
}
