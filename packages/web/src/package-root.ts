/** The folder of this package. Right only for files one level below it: `src`, `dist` and `bundle`. */
export const webRoot = new URL('..', import.meta.url)

/** File of an entry point that a process or thread starts with. */
export const webEntry = (name: string): URL => new URL(`bundle/${name}.js`, webRoot)
