import { useEffect, useState } from 'react'
import { KINDS } from '@retake/tape/present'
import { ROLE_LOOKS, SEEN_ROLES } from '../../blame/role-shapes.js'

/** The design's colours as a canvas needs them. */
export interface TimelineColors {
  readonly kinds: readonly string[]
  /** Of the roles that are seen, in their order. */
  readonly roles: readonly string[]
  readonly surface: string
  readonly raised: string
  readonly sunken: string
  readonly line: string
  readonly lineStrong: string
  readonly text: string
  readonly muted: string
  readonly accent: string
  readonly accentSoft: string
  readonly danger: string
  readonly warning: string
  readonly sans: string
  readonly mono: string
}

function readColors(): TimelineColors {
  const style = getComputedStyle(document.documentElement)
  const read = (name: string): string => style.getPropertyValue(`--${name}`).trim()
  return {
    kinds: KINDS.map((kind) => read(`kind-${kind}`)),
    roles: SEEN_ROLES.map((role) => read(ROLE_LOOKS[role].color)),
    surface: read('surface'),
    raised: read('raised'),
    sunken: read('sunken'),
    line: read('line'),
    lineStrong: read('line-strong'),
    text: read('text'),
    muted: read('muted'),
    accent: read('accent'),
    accentSoft: read('accent-soft'),
    danger: read('danger'),
    warning: read('warning'),
    sans: getComputedStyle(document.body).fontFamily,
    mono: read('font-mono') || 'monospace',
  }
}

/** Colours for a canvas, read again when the theme changes. */
export function useTimelineColors(): TimelineColors {
  const [colors, setColors] = useState(readColors)
  useEffect(() => {
    const update = (): void => setColors(readColors())
    const observer = new MutationObserver(update)
    observer.observe(document.documentElement, {
      attributeFilter: ['data-theme', 'class', 'style'],
    })
    const preference = matchMedia('(prefers-color-scheme: dark)')
    preference.addEventListener('change', update)
    return () => {
      observer.disconnect()
      preference.removeEventListener('change', update)
    }
  }, [])
  return colors
}
