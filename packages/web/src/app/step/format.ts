import { clock, cost, count, duration } from '../run/figures.js'

/** Numbers for people, as the rest of the page writes them. */
export const formatCount = count
export const formatUsd = cost
/** A moment of the run. */
export const formatTime = clock

/** A stretch of time; what is less than a millisecond is not nothing. */
export const formatMs = (ms: number): string =>
  ms > 0 && ms < 1 ? `${Number(ms.toPrecision(2))} ms` : duration(ms)

export function formatBytes(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`
  if (bytes < 1024 * 1024) return `${(bytes / 1024).toFixed(1)} KB`
  return `${(bytes / 1024 / 1024).toFixed(1)} MB`
}

export const plural = (value: number, word: string, many = `${word}s`): string =>
  `${count(value)} ${value === 1 ? word : many}`
