import { createHash, createHmac } from 'node:crypto'

/** What of a request its signature covers, as it arrived. */
interface SignedRequest {
  readonly method: string
  /** With its query. */
  readonly path: string
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** Stands for the body: AWS clients send its hash, or sign that of what they send. */
  readonly body: string
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')
const hmac = (key: string | Buffer, text: string): Buffer =>
  createHmac('sha256', key).update(text).digest()

/**
 * Whether a request was signed with this secret (AWS Signature Version 4), and
 * when. Written from the documented algorithm, apart from any SDK.
 */
export function readAwsSignature(request: SignedRequest, secret: string) {
  const { method, path, headers, body } = request
  const given = /Credential=([^,]+), SignedHeaders=([^,]+), Signature=(\w+)/.exec(
    headers['authorization'] ?? '',
  )
  const [, credential = '', signedHeaders = '', signature = ''] = given ?? []
  const [, ...scope] = credential.split('/')
  const [day = '', region = '', service = ''] = scope
  const date = headers['x-amz-date'] ?? ''
  const [pathname = '', query = ''] = path.split('?')
  const canonical = [
    method,
    // Everywhere but at S3 the path is escaped once more.
    pathname.split('/').map(encodeURIComponent).join('/'),
    query,
    // Over HTTP/2 the host has another name, also where it is signed.
    ...signedHeaders
      .split(';')
      .map((name) => `${name}:${(headers[name] ?? headers['host'] ?? '').trim()}`),
    '',
    signedHeaders,
    headers['x-amz-content-sha256'] ?? sha256(body),
  ].join('\n')
  const toSign = ['AWS4-HMAC-SHA256', date, scope.join('/'), sha256(canonical)].join('\n')
  const key = [region, service, 'aws4_request'].reduce(hmac, hmac(`AWS4${secret}`, day))
  const expected = hmac(key, toSign).toString('hex')
  const iso = date.replace(/(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z/, '$1-$2-$3T$4:$5:$6Z')
  return {
    isValid: signature === expected,
    signedAt: Date.parse(iso),
    accessKey: credential.split('/')[0],
  }
}
