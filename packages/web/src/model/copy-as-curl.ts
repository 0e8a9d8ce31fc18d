import type { HeaderPair } from '@retake/tape'
import type { StepDetail } from './run-source.js'

/** Matches masks of secrets, with or without the name of a variable. */
const PLACEHOLDER = /(?:\b[A-Za-z]{2,6}[-_])?retake-hidden(?:-([A-Za-z0-9_]*?))?x*(?![A-Za-z0-9_])/g

const shellQuote = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`

/** Quotes a word. Masked secrets become variables, named `fallback` if the name is unknown. */
function shellWord(text: string, fallback: string): string {
  const words: string[] = []
  let at = 0
  for (const match of text.matchAll(PLACEHOLDER)) {
    if (match.index > at) words.push(shellQuote(text.slice(at, match.index)))
    const [mask, name = ''] = match
    words.push(`"$${/^[A-Za-z_]\w*$/.test(name) ? name : fallback}"`)
    at = match.index + mask.length
  }
  if (at < text.length || words.length === 0) words.push(shellQuote(text.slice(at)))
  return words.join('')
}

const asVariable = (text: string): string =>
  text
    .toUpperCase()
    .replaceAll(/[^A-Z0-9]+/g, '_')
    .replaceAll(/^_+|_+$/g, '')
    .replace(/^(?=\d|$)/, '_')

/** Longer bodies do not fit into a command-line argument. */
const ARGUMENT_MAX = 60_000

/** curl sends `Expect` for bodies larger than a kilobyte. */
const EXPECT_MIN = 250

const OWN =
  /^(:.*|host|connection|content-length|transfer-encoding|accept-encoding|expect|keep-alive|upgrade)$/i

/**
 * The request of a step as a POSIX shell command; undefined if there is none. Masked secrets become
 * variables, such as `$OPENAI_API_KEY`. `bodyText` is the whole body, if the detail has only its
 * beginning. If the body is not text or not available, the command reads it from a file, and a comment
 * says that the file must be downloaded first.
 */
export function copyAsCurl(
  detail: Pick<StepDetail, 'label' | 'provider' | 'kind' | 'request' | 'response'>,
  bodyText?: string,
): string | undefined {
  const { request, response, label } = detail
  if (request === undefined) return undefined
  const { method, url, headers, body, isCut } = request
  const key = `${asVariable(detail.provider ?? '')}_API_KEY`.replace(/^__/, '')
  const text = bodyText ?? (body.clipped || body.form === 'binary' ? undefined : body.text)
  const isWhole = body.bytes === 0 || (text !== undefined && !text.includes('\0'))
  const file = `step-${label}-request.bin`
  const isLong = isWhole && (text ?? '').length > ARGUMENT_MAX
  const isStream = response?.headers.some(
    ([name, value]) => /^content-type$/i.test(name) && value.startsWith('text/event-stream'),
  )
  const parts = [
    method === 'HEAD'
      ? 'curl --head'
      : `curl -X ${/^[A-Z]+$/.test(method) ? method : shellQuote(method)}`,
    ...(isStream === true ? ['--no-buffer'] : []),
    ...(headers.some(([name]) => /^accept-encoding$/i.test(name)) ? ['--compressed'] : []),
    ...(/[[\]{}]/.test(url) ? ['--globoff'] : []),
    ...(/\/\.\.?(\/|$)/.test(url) ? ['--path-as-is'] : []),
    ...headers
      .filter(([name]) => !OWN.test(name))
      .map((pair) => {
        const [name, value] = pair
        const { kind } = detail
        const line = value.replaceAll(/[\r\n\0]+/g, ' ')

        // curl drops an empty header unless it ends with a semicolon.
        if (line.trim() === '') return `-H ${shellQuote(`${name};`)}`

        // The whole header is masked, but model providers expect a bearer token.
        const isBearer =
          kind === 'model' && /^authorization$/i.test(name) && line === 'retake-hidden'
        const isKey = kind === 'model' && /auth|key|token/i.test(name)
        const fallback = isKey ? key : asVariable(name)
        return `-H ${shellWord(`${name}: ${isBearer ? 'Bearer ' : ''}${line}`, fallback)}`
      }),
    ...(body.bytes === 0 ? [] : bodyParts(headers, { isLong, isWhole, text, file })),
    `--url ${shellWord(url, key)}`,
  ]
  const note = isCut ? '# An address or a header was too long and is cut here.\n' : ''
  const command = parts.join(' \\\n  ')
  if (isLong) return `${note}printf '%s' ${shellQuote(text ?? '')} |\n  ${command}`
  return isWhole
    ? note + command
    : `${note}# First download the request body of step ${label} as ${file}.\n${command}`
}

function bodyParts(
  headers: readonly HeaderPair[],
  body: { isLong: boolean; isWhole: boolean; text: string | undefined; file: string },
): string[] {
  const has = (wanted: string): boolean => headers.some(([name]) => name.toLowerCase() === wanted)
  const data = body.isWhole
    ? body.isLong
      ? '--data-binary @-'
      : `--data-raw ${shellQuote(body.text ?? '')}`
    : `--data-binary ${shellQuote(`@${body.file}`)}`
  // Removes headers that curl would add although they were not sent.
  const isRequested = !body.isWhole || (body.text ?? '').length > EXPECT_MIN
  return [
    ...(has('content-type') ? [] : ["-H 'content-type:'"]),
    ...(isRequested ? ["-H 'expect:'"] : []),
    data,
  ]
}
