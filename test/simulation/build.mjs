/**
 * Module hooks: the simulation runs the compiled modules (`dist`), not the bundles, so that
 * it reaches into them. With `RETAKE_MUTANT=3` one line of them is that mutant's.
 */
import { createRequire, register } from 'node:module'
import { fileURLToPath } from 'node:url'
import { isMainThread } from 'node:worker_threads'
import { MUTANTS } from './mutants.mjs'

const mutant = MUTANTS[Number(process.env.RETAKE_MUTANT ?? NaN)]
const packages = new URL('../../packages/', import.meta.url)
const require = createRequire(import.meta.url)

export function resolve(specifier, context, next) {
  const [, name, entry = ''] = /^@retake\/(\w+)(\/\w+)?$/.exec(specifier) ?? []
  if (name === undefined) return next(specifier, context)
  const { exports } = require(fileURLToPath(new URL(`${name}/package.json`, packages)))
  const compiled = exports[`.${entry}`].types.replace(/\.d\.ts$/, '.js')
  return { url: new URL(`${name}/${compiled}`, packages).href, shortCircuit: true }
}

export async function load(url, context, next) {
  const loaded = await next(url, context)
  if (mutant === undefined || !url.endsWith(`/packages/${mutant.file}`)) return loaded
  const parts = String(loaded.source).split(mutant.line)
  if (parts.length !== 2)
    throw new Error(`${mutant.file} has no single line "${mutant.line}": adapt the mutant`)
  return { ...loaded, source: parts.join(mutant.mutant) }
}

if (isMainThread) register(import.meta.url)
