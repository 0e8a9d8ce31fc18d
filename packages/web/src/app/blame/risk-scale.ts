import type { RiskPoint } from '@retake/tape'
import { clampRate } from '@retake/tape/present'

export interface RiskScale {
  readonly width: number
  readonly height: number
  readonly left: number
  readonly right: number
  readonly top: number
  readonly bottom: number
  /** Pixels from the left; -1 means that no step is kept. */
  readonly x: (upTo: number) => number
  readonly y: (rate: number) => number
}

/** Where the points of a risk curve of so many steps are drawn. */
export function riskScale(width: number, steps: number): RiskScale {
  const [height, left, right, top, bottom] = [164, 48, 14, 32, 22]
  const room = Math.max(1, width - left - right)
  return {
    width,
    height,
    left,
    right,
    top,
    bottom,
    x: (upTo) => left + ((upTo + 1) / Math.max(1, steps)) * room,
    y: (rate) => top + (1 - clampRate(rate)) * (height - top - bottom),
  }
}

/** Points in the order of the steps that were kept, those that were not tried left out. */
export const riskPoints = (curve: readonly RiskPoint[]): RiskPoint[] =>
  curve.filter(({ rate }) => rate.forks > 0).toSorted((a, b) => a.upTo - b.upTo)

/**
 * The line through the points. Between two of them nobody looked: the risk rises at some
 * step there, so the line is level up to the later one.
 */
export function riskPath(points: readonly RiskPoint[], { x, y }: RiskScale): string {
  return points
    .map(({ upTo, rate }, index) => {
      const at = y(rate.fails / rate.forks)
      return index === 0 ? `M${x(upTo)} ${at}` : `H${x(upTo)}V${at}`
    })
    .join('')
}
