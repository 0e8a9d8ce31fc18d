/** Numbers for people. What is not known is said by whoever asks, never shown as 0. */
export const formatCount = (count: number): string => count.toLocaleString('en-US')

export function formatMs(ms: number): string {
  if (ms < 1) return `${Number(ms.toFixed(2))} ms`
  if (ms < 1000) return `${Math.round(ms)} ms`
  if (ms < 60_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 1)} s`
  const seconds = Math.round(ms / 1000)
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor((seconds % 3600) / 60)]
  return hours > 0 ? `${hours} h ${minutes} min` : `${minutes} min ${seconds % 60} s`
}

/** A cost that rounds to nothing is less than the least shown. */
export function formatUsd(usd: number): string {
  if (usd === 0) return '$0'
  if (usd < 0.0001) return '< $0.0001'
  return `$${usd.toFixed(usd < 1 ? 4 : 2)}`
}

export function formatBytes(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`
  if (bytes < 1024 * 1024) return `${(bytes / 1024).toFixed(1)} KB`
  return `${(bytes / 1024 / 1024).toFixed(1)} MB`
}

export const plural = (count: number, word: string, many = `${word}s`): string =>
  `${formatCount(count)} ${count === 1 ? word : many}`
