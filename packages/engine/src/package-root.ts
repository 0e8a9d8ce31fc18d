/** The folder of this package. Only valid for files one level below it: `src`, `dist` and `bundle`. */
export const engineRoot = new URL('..', import.meta.url)
