/** The folder of this package. Right only for files one level below it: `src`, `dist` and `bundle`. */
export const guardRoot = new URL('..', import.meta.url)
