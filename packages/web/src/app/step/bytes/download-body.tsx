import { useState } from 'react'
import { Button } from '../../design/button.js'
import type { BodySide } from '../../../model/step-detail.js'
import type { Run } from '../../run/use-run.js'
import { DownloadIcon } from '../../design/icons.js'
import { showToast } from '../../design/toast.js'
import { saveBytes } from '../copy/save-bytes.js'
import { bytesText } from '../../../model/bytes-text.js'

export interface DownloadBodyProps {
  readonly run: Run
  readonly label: string
  readonly side: BodySide
  readonly bytes?: number
  /** How the file's name ends. */
  readonly ending?: string
}

/** Offers one side of a step whole, as a file. */
export function DownloadBody({ run, label, side, bytes, ending = 'txt' }: DownloadBodyProps) {
  const [isBusy, setBusy] = useState(false)
  const save = async (): Promise<void> => {
    setBusy(true)
    try {
      const body = await run.source.body(label, side)
      saveBytes(body, `${run.id}-step-${label}-${side}.${ending}`, 'application/octet-stream')
    } catch (error) {
      showToast(`The ${side} could not be read: ${(error as Error).message}`, { tone: 'danger' })
    } finally {
      setBusy(false)
    }
  }
  return (
    <Button className="h-6" disabled={isBusy} onClick={() => void save()}>
      <DownloadIcon />
      {bytes === undefined ? `Download the whole ${side}` : `Download, ${bytesText(bytes)}`}
    </Button>
  )
}
