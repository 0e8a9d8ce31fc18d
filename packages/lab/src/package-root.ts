/** The folder of this package, for files one level below: `src`, `dist` and `bundle`. */
export const labRoot = new URL('..', import.meta.url)

/** File of an entry point that a process or thread starts with. */
export const labEntry = (name: string): URL => new URL(`bundle/${name}.js`, labRoot)
