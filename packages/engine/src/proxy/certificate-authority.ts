import { createHash, generateKeyPairSync, randomBytes, sign, type KeyObject } from 'node:crypto'
import { isIP } from 'node:net'
import { createSecureContext, type SecureContext } from 'node:tls'

interface KeyPair {
  readonly publicKey: KeyObject
  readonly privateKey: KeyObject
}

const DAY_MS = 24 * 60 * 60 * 1000
const NAME = 'Retake (this recording only)'

/**
 * Issues certificates for the hosts that a recorded command talks to, so that the proxy can read
 * its HTTPS. Created for each run; its private key exists only in memory. Only a command that is
 * pointed at `certificate` trusts it.
 */
export class CertificateAuthority {
  /** In PEM. */
  readonly certificate: string
  readonly #keys = newKeys()
  /** All hosts share one key pair, because making one takes longer than a signature. */
  readonly #hostKeys = newKeys()
  readonly #contexts = new Map<string, SecureContext>()

  constructor() {
    const usage = [
      extension(OID.basicConstraints, sequence(TRUE), true),
      extension(OID.keyUsage, bits(Buffer.from([0x06]), 1), true),
      extension(OID.subjectKey, octets(keyId(this.#keys))),
    ]
    this.certificate = this.#issue(NAME, this.#keys, usage)
  }

  /** Options for a TLS server for this host. */
  contextFor(host: string): SecureContext {
    const known = this.#contexts.get(host)
    if (known) return known
    const { certificate, key } = this.issue(host)
    const context = createSecureContext({ cert: certificate + this.certificate, key })
    this.#contexts.set(host, context)
    return context
  }

  issue(host: string): { readonly certificate: string; readonly key: string } {
    const certificate = this.#issue(host.slice(0, 64), this.#hostKeys, [
      extension(OID.basicConstraints, sequence(), true),
      extension(OID.keyUsage, bits(Buffer.from([0x80]), 7), true),
      extension(OID.extendedKeyUsage, sequence(oid(OID.serverAuth))),
      extension(OID.alternativeName, sequence(alternativeName(host))),
      extension(OID.subjectKey, octets(keyId(this.#hostKeys))),
      extension(OID.authorityKey, sequence(tagged(0x80, keyId(this.#keys)))),
    ])
    const key = this.#hostKeys.privateKey.export({ type: 'pkcs8', format: 'pem' }) as string
    return { certificate, key }
  }

  #issue(subject: string, keys: KeyPair, extensions: readonly Buffer[]): string {
    const algorithm = sequence(oid(OID.ecdsaWithSha256))
    // The top bit must be clear, so that the number is positive.
    const serial = randomBytes(16)
    serial[0] = ((serial[0] ?? 0) & 0x3f) | 0x40
    const now = Date.now()
    const toBeSigned = sequence(
      tagged(0xa0, integer(Buffer.from([2]))),
      integer(serial),
      algorithm,
      commonName(NAME),
      sequence(utcTime(now - DAY_MS), utcTime(now + 30 * DAY_MS)),
      commonName(subject),
      keys.publicKey.export({ type: 'spki', format: 'der' }),
      tagged(0xa3, sequence(...extensions)),
    )
    const signature = sign('sha256', toBeSigned, this.#keys.privateKey)
    const der = sequence(toBeSigned, algorithm, bits(signature, 0))
    const lines = der.toString('base64').match(/.{1,64}/g) ?? []
    return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`
  }
}

const newKeys = (): KeyPair => generateKeyPairSync('ec', { namedCurve: 'P-256' })

const keyId = ({ publicKey }: KeyPair): Buffer =>
  createHash('sha1')
    .update(publicKey.export({ type: 'spki', format: 'der' }))
    .digest()

// ── DER, as far as a certificate needs it (X.690, RFC 5280) ─────────────────

const OID = {
  commonName: [2, 5, 4, 3],
  subjectKey: [2, 5, 29, 14],
  keyUsage: [2, 5, 29, 15],
  alternativeName: [2, 5, 29, 17],
  basicConstraints: [2, 5, 29, 19],
  authorityKey: [2, 5, 29, 35],
  extendedKeyUsage: [2, 5, 29, 37],
  serverAuth: [1, 3, 6, 1, 5, 5, 7, 3, 1],
  ecdsaWithSha256: [1, 2, 840, 10045, 4, 3, 2],
} as const

const TRUE = Buffer.from([0x01, 0x01, 0xff])

function tagged(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts)
  const { length } = content
  const size =
    length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.from([tag, ...size]), content])
}

const sequence = (...parts: readonly Buffer[]): Buffer => tagged(0x30, ...parts)
const integer = (bytes: Buffer): Buffer => tagged(0x02, bytes)
const octets = (bytes: Buffer): Buffer => tagged(0x04, bytes)
const bits = (bytes: Buffer, unused: number): Buffer => tagged(0x03, Buffer.from([unused]), bytes)
const commonName = (text: string): Buffer =>
  sequence(tagged(0x31, sequence(oid(OID.commonName), tagged(0x0c, Buffer.from(text)))))

const utcTime = (ms: number): Buffer =>
  tagged(0x17, Buffer.from(`${new Date(ms).toISOString().replaceAll(/^..|[-:T]|\..*/g, '')}Z`))

const extension = (name: readonly number[], value: Buffer, isCritical = false): Buffer =>
  sequence(oid(name), ...(isCritical ? [TRUE] : []), octets(value))

function oid([first = 0, second = 0, ...rest]: readonly number[]): Buffer {
  const bytes = rest.flatMap((number) => {
    const groups = [number & 0x7f]
    for (let left = number >> 7; left > 0; left >>= 7) groups.unshift((left & 0x7f) | 0x80)
    return groups
  })
  return tagged(0x06, Buffer.from([40 * first + second, ...bytes]))
}

/** A name, or an address as bytes. */
function alternativeName(host: string): Buffer {
  if (isIP(host) === 0) return tagged(0x82, Buffer.from(host))
  if (isIP(host) === 4) return tagged(0x87, Buffer.from(host.split('.').map(Number)))
  const [head = '', tail] = host.split('::')
  const groups = (text: string): string[] => (text === '' ? [] : text.split(':'))
  const [before, after] = [groups(head), groups(tail ?? '')]
  const zeros = tail === undefined ? 0 : 8 - before.length - after.length
  const all = [...before, ...Array<string>(zeros).fill('0'), ...after]
  return tagged(0x87, Buffer.from(all.map((group) => group.padStart(4, '0')).join(''), 'hex'))
}
