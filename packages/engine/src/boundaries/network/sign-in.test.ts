import { createHash, createHmac, pbkdf2Sync } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { MysqlHandshake, ScramMessages } from './sign-in.js'

const packet = (number: number, payload: Uint8Array): Buffer => {
  const header = Buffer.alloc(4)
  header.writeUIntLE(payload.length, 0, 3)
  header[3] = number
  return Buffer.concat([header, payload])
}

/** Flags, size limit, character set and reserved bytes. */
const fixed = (flags: number): Buffer => {
  const bytes = Buffer.alloc(32)
  bytes.writeUInt32LE(flags, 0)
  bytes[8] = 45
  return bytes
}

const answer = fc.uint8Array({ maxLength: 64 })

test('only the answers of a MySQL client before its first command are left out', () => {
  fc.assert(
    fc.property(answer, answer, fc.constantFrom(0x8200, 0x208200), (first, next, flags) => {
      const startup = (password: Uint8Array): Buffer => {
        const lengthByte = Uint8Array.of(password.length)
        const parts = [fixed(flags), Buffer.from('me\0'), lengthByte, password]
        return packet(1, Buffer.concat([...parts, Buffer.from('shop\0caching_sha2_password\0')]))
      }
      const commands = [packet(0, Buffer.from('\x03select 1')), packet(2, Buffer.from('a,b\n'))]
      const sent = [startup(first), packet(3, next), ...commands]
      const hidden = [startup(Buffer.alloc(first.length)), packet(3, Buffer.alloc(next.length))]
      const handshake = new MysqlHandshake()
      expect(sent.map((chunk) => handshake.written(chunk))).toEqual([...hidden, ...commands])
    }),
  )
})

test('bytes that are not MySQL are unchanged', () => {
  const tls = packet(1, fixed(0x208a00))
  expect(new MysqlHandshake().written(tls)).toEqual(tls)
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ minLength: 1 })), (chunks) => {
      const handshake = new MysqlHandshake()
      for (const chunk of chunks) expect([...handshake.written(chunk)]).toEqual([...chunk])
    }),
  )
})

const hmac = (key: Uint8Array, text: string): Buffer =>
  createHmac('sha256', key).update(text).digest()

/** The proofs of a client and of a server that know this password. */
function proofs(
  password: string,
  salt: Buffer,
  message: string,
): { client: string; server: string } {
  const salted = pbkdf2Sync(password, salt, 4096, 32, 'sha256')
  const key = hmac(salted, 'Client Key')
  const signature = hmac(createHash('sha256').update(key).digest(), message)
  return {
    client: Buffer.from(key.map((byte, index) => byte ^ (signature[index] ?? 0))).toString(
      'base64',
    ),
    server: hmac(hmac(salted, 'Server Key'), message).toString('base64'),
  }
}

test('a client with a placeholder for its password accepts the recorded server, inside any protocol', () => {
  const around = (text: string): Buffer =>
    Buffer.concat([Buffer.from([9, 0, 0xdd, 7]), Buffer.from(text), Buffer.from([0, 0x10, 1])])
  const salt = Buffer.from('salt of the server')
  const first = 'n=me,r=abc+/1'
  const serverFirst = `r=abc+/1xyz,s=${salt.toString('base64')},i=4096`
  const final = 'c=biws,r=abc+/1xyz'
  const message = `${first},${serverFirst},${final}`
  const recorded = proofs('the password', salt, message)
  const replayed = proofs('a placeholder', salt, message)

  const client = new ScramMessages(() => ['another', 'a placeholder'])
  expect(client.written(around(`n,,${first}`))).toEqual(around(`n,,${first}`))
  expect(client.served(around(serverFirst))).toEqual(around(serverFirst))
  expect(client.written(around(`${final},p=${replayed.client}`))).toEqual(
    around(`${final},p=${'\0'.repeat(44)}`),
  )
  const last = around(`v=${replayed.server}`)
  expect(client.served(around(`v=${recorded.server}`))).toEqual(last)
  // Later bytes are data.
  expect(client.written(around(`${final},p=${replayed.client}`))).toEqual(
    around(`${final},p=${replayed.client}`),
  )
})
