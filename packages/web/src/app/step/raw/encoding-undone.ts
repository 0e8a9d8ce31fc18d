import type { ResponseDetail } from '../../../model/step-detail.js'

/**
 * The encoding of a body that is shown, and downloaded, without it; undefined when the
 * body is as it came.
 */
export function encodingUndone({
  headers,
  body,
  undecoded,
}: Pick<ResponseDetail, 'headers' | 'body' | 'undecoded'>): string | undefined {
  if (undecoded !== undefined || body.form === 'empty') return undefined
  const encodings = headers
    .filter(([name]) => /^content-encoding$/i.test(name))
    .map(([, value]) => value.trim())
    .filter((value) => value !== '' && value.toLowerCase() !== 'identity')
  return encodings.length === 0 ? undefined : encodings.join(', ')
}
