/** What a link to a run holds besides its id: every step, tab, field and filter has an address. */
export interface RunSearch {
  /** Label of the step that is looked at. */
  readonly step?: string
  readonly tab?: string
  /** Path of a field in the tab, for example `answer.0.text`. */
  readonly field?: string
}

/** Reads an address; what makes no sense in it is left out. */
export function readRunSearch(search: Record<string, unknown>): RunSearch {
  const text = (name: string): string | undefined => {
    const value = search[name]
    return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined
  }
  return Object.fromEntries(
    ['step', 'tab', 'field']
      .map((name) => [name, text(name)])
      .filter(([, value]) => value !== undefined),
  ) as RunSearch
}
