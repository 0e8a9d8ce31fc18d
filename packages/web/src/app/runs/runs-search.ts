import type { RunStatus } from '@retake/tape/present'

/** Which runs the list shows; it stands in the address. */
export interface RunsSearch {
  readonly text?: string
  readonly status?: StatusFilter
}

export type StatusFilter = RunStatus | 'unreadable'

export const STATUS_FILTERS = [
  'done',
  'failed',
  'killed',
  'recording',
  'unreadable',
] as const satisfies readonly StatusFilter[]

/** Reads an address; what makes no sense in it is left out. */
export function readRunsSearch(search: Record<string, unknown>): RunsSearch {
  const { text, status } = search
  const known = STATUS_FILTERS.find((each) => each === status)
  return {
    ...((typeof text === 'string' || typeof text === 'number') && text !== ''
      ? { text: String(text) }
      : {}),
    ...(known !== undefined && { status: known }),
  }
}
