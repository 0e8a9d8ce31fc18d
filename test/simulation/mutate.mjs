/** `node --import ./mutate.mjs simulate.mjs` with `RETAKE_MUTANT=3` runs the simulation with that mutant. */
import { register } from 'node:module'
import { isMainThread } from 'node:worker_threads'
import { MUTANTS } from './mutants.mjs'

const { file, line, mutant } = MUTANTS[Number(process.env.RETAKE_MUTANT)]

/** A hook of Node's module loader, which has a thread of its own. */
export async function load(url, context, next) {
  const loaded = await next(url, context)
  if (!url.endsWith(`/packages/${file}`)) return loaded
  const parts = String(loaded.source).split(line)
  if (parts.length !== 2) throw new Error(`${file} has no single line "${line}": adapt the mutant`)
  return { ...loaded, source: parts.join(mutant) }
}

if (isMainThread) register(import.meta.url)
