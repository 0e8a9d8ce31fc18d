import { disk, flagBits, opensForWriting, opensNew, opensToRead } from '@retake/engine/hook'
import type { FileAccess } from '../../bounds/scopes.js'
import type { BoundedCall, MakePlan } from './bounded-plan.js'

const { O_CREAT, O_NOFOLLOW } = disk.constants

/** Opens a file with these flags, whatever it does with it then. */
export function plannedOpen(call: BoundedCall, flags: unknown): { at: string; bits: number } {
  const bits = flagBits(flags)
  const accesses: FileAccess[] = []
  if (opensToRead(bits)) accesses.push('read')
  if (opensForWriting(bits)) accesses.push('write')
  const text = call.args[0] as string
  // These do not follow a link at the end either.
  if (opensNew(bits) || (bits & O_NOFOLLOW) !== 0) {
    const ask = (each: string): void => accesses.forEach((access) => call.asked.ask(access, each))
    return { at: call.pins.entry(ask, text), bits }
  }
  const creates = (bits & O_CREAT) !== 0
  const at = call.pins.target(accesses, text, creates)
  // A name in a held folder: a link that is put there now is not followed.
  return { at, bits: creates && !/^\/proc\/self\/fd\/\d+$/.test(at) ? bits | O_NOFOLLOW : bits }
}

/** `readFile`, `writeFile` and `appendFile`, with their options at this place. */
export const opensWhole =
  (index: number, usual: string): MakePlan =>
  (call) => {
    const { args } = call
    const options = typeof args[index] === 'string' ? { encoding: args[index] } : args[index]
    const { flag } = (options ?? {}) as { flag?: unknown }
    const { at, bits } = plannedOpen(call, flag ?? usual)
    const rest = args.slice(1)
    if (bits !== flagBits(flag ?? usual)) rest[index - 1] = { ...(options as object), flag: bits }
    return { args: [at, ...rest] }
  }
