import { QueryNote } from '../query-note.js'
import { useQuery } from '@tanstack/react-query'
import { useVirtualizer } from '@tanstack/react-virtual'
import { useRef } from 'react'
import type { BodySide } from '../../../model/step-detail.js'
import type { Run } from '../../run/use-run.js'
import { bytesText } from '../../../model/bytes-text.js'
import { hexLine, hexLineCount } from './hex-lines.js'

/** Bytes that are shown; a file is better for more. */
const SHOWN = 65_536
const LINE = 18

/** The bytes of a body, as numbers and as what of them is text. */
export function HexView(props: {
  readonly run: Run
  readonly label: string
  readonly side: BodySide
}) {
  const { run, label, side } = props
  const body = useQuery({
    queryKey: ['body', run.id, label, side],
    queryFn: () => run.source.body(label, side),
    gcTime: 0,
  })
  if (body.data === undefined) return <QueryNote what="the bytes" error={body.error} />
  return <HexLines bytes={body.data} />
}

function HexLines({ bytes }: { readonly bytes: Uint8Array }) {
  const scroller = useRef<HTMLDivElement>(null)
  const shown = bytes.subarray(0, SHOWN)
  const list = useVirtualizer({
    count: hexLineCount(shown.length),
    getScrollElement: () => scroller.current,
    estimateSize: () => LINE,
    overscan: 20,
  })
  return (
    <>
      {bytes.length > SHOWN && (
        <p className="mb-1 text-sm text-muted">
          The first {bytesText(SHOWN)} of {bytesText(bytes.length)}.
        </p>
      )}
      <section
        ref={scroller}
        aria-label="Bytes"
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls must be reached by keyboard
        tabIndex={0}
        className="max-h-[60vh] overflow-auto border border-line font-mono text-sm"
      >
        <div className="relative" style={{ height: list.getTotalSize(), minWidth: '78ch' }}>
          {list.getVirtualItems().map(({ index, start }) => {
            const line = hexLine(shown, index)
            return (
              <div
                key={index}
                className="absolute left-0 px-2 whitespace-pre"
                style={{ top: start, height: LINE, lineHeight: `${LINE}px` }}
              >
                <span className="text-muted">{line.offset} </span> {line.hex}{' '}
                <span className="text-accent">{line.text}</span>
              </div>
            )
          })}
        </div>
      </section>
    </>
  )
}
