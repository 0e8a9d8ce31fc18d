import { useEffect, useLayoutEffect, useRef, useState, type RefObject } from 'react'

export interface Size {
  readonly width: number
  readonly height: number
}

export function useSize(element: RefObject<HTMLElement | null>): Size {
  const [size, setSize] = useState<Size>({ width: 0, height: 0 })
  useLayoutEffect(() => {
    const { current } = element
    if (current === null) return
    const observer = new ResizeObserver(() =>
      setSize({ width: current.clientWidth, height: current.clientHeight }),
    )
    observer.observe(current)
    return () => observer.disconnect()
  }, [element])
  return size
}

/** Drawn at most once per frame, in device pixels. */
export function useCanvas(
  { width, height }: Size,
  draw: (context: CanvasRenderingContext2D) => void,
): RefObject<HTMLCanvasElement | null> {
  const canvas = useRef<HTMLCanvasElement>(null)
  const [ratio, setRatio] = useState(devicePixelRatio)
  useEffect(() => {
    const query = matchMedia(`(resolution: ${ratio}dppx)`)
    const changed = (): void => setRatio(devicePixelRatio)
    query.addEventListener('change', changed)
    return () => query.removeEventListener('change', changed)
  }, [ratio])
  useEffect(() => {
    const frame = requestAnimationFrame(() => {
      const { current } = canvas
      const context = current?.getContext('2d')
      if (!current || !context || width === 0) return
      const [wide, high] = [Math.round(width * ratio), Math.round(height * ratio)]
      if (current.width !== wide) current.width = wide
      if (current.height !== high) current.height = high
      context.setTransform(ratio, 0, 0, ratio, 0, 0)
      draw(context)
    })
    return () => cancelAnimationFrame(frame)
  })
  return canvas
}
