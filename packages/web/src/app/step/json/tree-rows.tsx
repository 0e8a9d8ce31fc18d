import { useVirtualizer } from '@tanstack/react-virtual'
import { useImperativeHandle, useRef, type ReactNode, type Ref } from 'react'

/** What brings a line onto the screen. */
export interface RowsHandle {
  focus(index: number): void
}

export interface RowsProps {
  readonly count: number
  readonly line: (index: number) => ReactNode
  readonly handle: Ref<RowsHandle>
}

const focusItem = (within: HTMLElement | null, index: number): void =>
  within?.querySelector<HTMLElement>(`[data-line="${index}"] > [role=treeitem]`)?.focus()

/** All lines. */
export function PlainRows({ count, line, handle }: RowsProps) {
  const box = useRef<HTMLDivElement>(null)
  useImperativeHandle(handle, () => ({ focus: (index) => focusItem(box.current, index) }), [])
  return (
    <div ref={box} role="none">
      {Array.from({ length: count }, (_, index) => (
        <div key={index} data-line={index} role="none">
          {line(index)}
        </div>
      ))}
    </div>
  )
}

/** The lines that are on the screen. */
export function VirtualRows({
  count,
  line,
  handle,
  start,
}: RowsProps & { readonly start: number }) {
  const box = useRef<HTMLDivElement>(null)
  const list = useVirtualizer({
    count,
    getScrollElement: () => box.current,
    estimateSize: () => 20,
    overscan: 20,
    initialOffset: Math.max(0, start - 10) * 20,
  })
  useImperativeHandle(
    handle,
    () => ({
      focus: (index) => {
        list.scrollToIndex(index)
        requestAnimationFrame(() => focusItem(box.current, index))
      },
    }),
    [list],
  )
  return (
    <div ref={box} role="none" className="h-[70vh] overflow-auto border-y border-line">
      <div role="none" className="relative" style={{ height: list.getTotalSize() }}>
        {list.getVirtualItems().map(({ index, start: top }) => (
          <div
            key={index}
            ref={list.measureElement}
            data-index={index}
            data-line={index}
            role="none"
            className="absolute left-0 w-full"
            style={{ transform: `translateY(${top}px)` }}
          >
            {line(index)}
          </div>
        ))}
      </div>
    </div>
  )
}
