import { entries, statFs, stats } from './file-values.js'
import { plain } from '../result-form.js'
import type { ResultForm } from '../result-form.js'

/**
 * What a parameter is:
 * - `path`: a path, or for `glob` a pattern or a list of them
 * - `fd`: an open descriptor; `file`: a path or a descriptor
 * - `data`: what is written
 * - `flags`: how to open; `options`: an encoding or an object; `number`: a mode, a length, an id
 *   or a time
 */
export type Input = 'path' | 'fd' | 'file' | 'data' | 'flags' | 'options' | 'number'

export interface FileShape {
  readonly inputs: readonly Input[]
  /** How many of them must be given. */
  readonly required: number
  readonly form: ResultForm
}

export function takes(list: string, form: ResultForm = plain): FileShape {
  const inputs = list.split(' ') as Input[]
  const required = inputs.filter((input) => isPathOrDescriptor(input) || input === 'data').length
  return { inputs, required, form }
}

/** Whether a parameter says where, rather than what or how. */
export const isPathOrDescriptor = (input: Input | undefined): boolean =>
  input === 'path' || input === 'fd' || input === 'file'

/**
 * Functions of `node:fs` that differ only in what they take and give. Each exists
 * as `name`, `nameSync` and, for most, `promises.name`, all with these parameters.
 */
export const fileFunctions: Readonly<Record<string, FileShape>> = {
  access: takes('path number'),
  appendFile: takes('file data options'),
  chmod: takes('path number'),
  chown: takes('path number number'),
  close: takes('fd'),
  copyFile: takes('path path number'),
  cp: takes('path path options'),
  exists: takes('path'),
  fchmod: takes('fd number'),
  fchown: takes('fd number number'),
  fdatasync: takes('fd'),
  fstat: takes('fd options', stats),
  fsync: takes('fd'),
  ftruncate: takes('fd number'),
  futimes: takes('fd number number'),
  glob: takes('path options', entries),
  lchmod: takes('path number'),
  lchown: takes('path number number'),
  link: takes('path path'),
  lstat: takes('path options', stats),
  lutimes: takes('path number number'),
  mkdir: takes('path options'),
  mkdtemp: takes('path options'),
  open: takes('path flags number'),
  readFile: takes('file options'),
  readdir: takes('path options', entries),
  readlink: takes('path options'),
  realpath: takes('path options'),
  rename: takes('path path'),
  rm: takes('path options'),
  rmdir: takes('path options'),
  stat: takes('path options', stats),
  statfs: takes('path options', statFs),
  symlink: takes('path path options'),
  truncate: takes('file number'),
  unlink: takes('path'),
  utimes: takes('path number number'),
  writeFile: takes('file data options'),
}

/** The shape of a function of the table above. */
export function shapeOf(name: string): FileShape {
  const shape = fileFunctions[name]
  if (shape === undefined) throw new Error(`Retake invariant broken: no shape for fs.${name}`)
  return shape
}
