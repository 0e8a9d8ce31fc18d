/**
 * Measures one group in a process of its own, because boundaries patch globals
 * and one group's warm code must not speed up or slow down another's.
 *
 *     node bench/measure/run-group.mjs <file> [--quick]
 *
 * Sends the rows to the process that forked it.
 */
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const [file, ...flags] = process.argv.slice(2)
const { measure } = await import(pathToFileURL(join(import.meta.dirname, '..', file)).href)
const rows = await measure({ quick: flags.includes('--quick') })
process.send?.(rows, () => process.exit(0))
