import { encodeBody } from '@retake/tape/format'
import { callSite } from '../../call-site.js'
import type { Session } from '../../sessions/session.js'
import type { CapturedCall, Outcome } from '../captured-call.js'
import { descriptorsOf } from './tape-descriptors.js'
import { nameDescriptor } from './file-descriptors.js'
import { isPathOrDescriptor, shapeOf } from './file-functions.js'
import type { FileShape } from './file-functions.js'
import { encodeData, encodingOf } from './file-data.js'
import { contentOf, learnSecrets } from './file-secrets.js'
import { tookFromTape } from './served-call.js'
import type { Encoded } from '../result-form.js'

/**
 * A call of the function `name`, under the name `label`: its paths are its title, the rest is its input. Also learns
 * the secrets of a `.env` file it touches, before anything about it goes on tape.
 */
export function fileCall(
  session: Session,
  label: string,
  name: string,
  args: readonly unknown[],
  shape: FileShape = shapeOf(name),
): CapturedCall {
  const { inputs, form } = shape
  const paths = args.filter((_, index) => isPathOrDescriptor(inputs[index]))
  const rest = args.filter((_, index) => !isPathOrDescriptor(inputs[index]))
  const names = paths.map((path) => nameOf(session, path))
  if (rest.some(hasFunction)) noteFunction(session, label)
  if (name === 'open') descriptorsOf(session).opening(args)
  const served = (outcome: Outcome): void => tookFromTape(session, name, args, outcome)
  const title = names.join(' → ')
  if (inputs[1] !== 'data') {
    learnSecrets(session, names)
    const again = (): unknown => readAgain(session, name, args)
    return { kind: 'file', name: label, title, input: encodeOptions(rest), form, served, again }
  }
  const [data, ...options] = rest
  const input = encodeData(data, encodingOf(options[0]))
  learnSecrets(session, names, input.body)
  return { kind: 'file', name: label, title: title + describeOptions(options), input, form, served }
}

/** Result that a call that reads a whole file would return now. */
function readAgain(
  session: Session,
  name: string,
  [filePath, options]: readonly unknown[],
): unknown {
  if (name !== 'readFile' && name !== 'openAsBlob') return undefined
  const opened =
    typeof filePath === 'number' ? descriptorsOf(session).positionOf(filePath) : undefined
  const { path, position } = opened ?? { path: pathText(filePath), position: 0 }
  const bytes = contentOf(session, path)?.subarray(position)
  const { encoding } = (typeof options === 'object' ? (options ?? {}) : { encoding: options }) as {
    encoding?: BufferEncoding | null
  }
  return name === 'readFile' && encoding ? bytes?.toString(encoding) : bytes
}

/** The filter of `cp`, the exclusion of `glob`. */
const hasFunction = (option: unknown): boolean =>
  typeof option === 'object' && option !== null && Object.values(option).some(isFunction)
const isFunction = (value: unknown): boolean => typeof value === 'function'

function noteFunction(session: Session, name: string): void {
  const site = callSite()
  session.note({
    kind: 'boundary',
    name,
    text: 'what a function in its options does is not captured',
    consequence: 'the function is not called on replay',
    ...(site !== undefined && { site }),
  })
}

function nameOf(session: Session, filePath: unknown): string {
  if (typeof filePath === 'number') return nameDescriptor(session, filePath)
  if (Array.isArray(filePath)) return filePath.map((path) => pathText(path)).join(', ')
  return pathText(filePath)
}

/** A path as text, whatever form it has. */
export function pathText(path: unknown): string {
  return path instanceof Uint8Array ? Buffer.from(path).toString() : String(path)
}

/** Options as JSON, without what cannot be compared; nothing when there are none. */
export function encodeOptions(options: readonly unknown[]): Encoded {
  const given = options.map(comparable)
  while (given.length > 0 && given.at(-1) === undefined) given.pop()
  return given.length === 0 ? {} : encodeBody(given)
}

/** A write's bytes fill the body: its options follow the path. */
export function describeOptions(options: readonly unknown[]): string {
  const { body } = encodeOptions(options)
  return body === undefined ? '' : ` ${Buffer.from(body).toString()}`
}

function comparable(option: unknown): unknown {
  if (typeof option !== 'object' || option === null || option instanceof Date) return option
  const { signal: _, ...rest } = option as Record<string, unknown>
  const given = Object.entries(rest).filter(
    ([, value]) => value !== undefined && typeof value !== 'function',
  )
  return given.length === 0 ? undefined : Object.fromEntries(given)
}
