import { readFile } from 'node:fs/promises'

/**
 * Milliseconds that the main thread of a process has computed, which other work on
 * the machine does not change much; undefined where the system does not tell.
 */
export async function processorTime(pid: number): Promise<number | undefined> {
  if (process.platform !== 'linux') return undefined
  const text = await readFile(`/proc/${pid}/schedstat`, 'utf8').catch(() => '')
  const nanoseconds = Number(text.split(' ')[0])
  return nanoseconds > 0 ? nanoseconds / 1e6 : undefined
}
