/** Functions of `node:fs` as a library takes them that is imported before the guard. */
import fs from 'node:fs'

export const early = { ...fs, promises: { ...fs.promises } }
