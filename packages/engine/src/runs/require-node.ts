import { errors } from '../errors.js'

/** Throws in Bun and Deno. Both pretend to be Node, but their modules cannot be patched like Node's. */
export function requireNode({ bun, deno }: NodeJS.ProcessVersions = process.versions): void {
  if (bun !== undefined) throw errors.RUNTIME_NOT_SUPPORTED(`Bun ${bun}`)
  if (deno !== undefined) throw errors.RUNTIME_NOT_SUPPORTED(`Deno ${deno}`)
}
