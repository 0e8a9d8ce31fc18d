import fs from 'node:fs'

export type FileFunction = (...args: unknown[]) => unknown

export const nativeFs = functionsOf(fs)

/** The native function of this name, which must exist on every Node. */
export function nativeFunction(name: string): FileFunction {
  const native = nativeFs[name]
  if (native === undefined) throw new Error(`Retake invariant broken: fs.${name} does not exist`)
  return native
}

function functionsOf(module: object): Readonly<Record<string, FileFunction | undefined>> {
  const functions: Record<string, FileFunction> = {}
  for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(module))) {
    if (typeof value === 'function') functions[name] = value as FileFunction
  }
  return functions
}
