import { expect, test } from 'vitest'
import { secretsIn } from '../scripts/find-secrets.mjs'

/** Built at run time, so that this file passes the scan itself. */
const letters = 'aB3dE5gH1jK7mN9pQ2sT'
const samples = {
  'a model key': ['sk', 'proj', letters + letters].join('-'),
  'a GitHub token': `ghp_${letters}${letters}`,
  'an AWS key id': `AKIA${letters.toUpperCase().slice(0, 16)}`,
  'an AWS secret': `aws_secret_access_key = ${letters}${letters}`,
  'a private key': ['-----BEGIN PRIVATE KEY-----', letters, '-----END '].join('\n'),
  'a password in a URL': `postgres://app:${letters}@db.example/shop`,
}

test.each(Object.entries(samples))('the scan finds %s and names its line', (_, sample) => {
  expect(secretsIn('notes.txt', `first\nkey: ${sample}\n`)).toEqual([
    { path: 'notes.txt', line: 2, why: 'looks like a key' },
  ])
})

test('the scan finds files for secrets by name', () => {
  expect(secretsIn('examples/.env', 'A=1')).toHaveLength(1)
  expect(secretsIn('examples/.env.example', 'A=1')).toHaveLength(0)
  expect(secretsIn('keys/server.pem', '')).toHaveLength(1)
})

test('digests, ids, placeholders and sample passwords are not secrets', () => {
  const text = `${'0a1b2c3d'.repeat(8)} 20261115-080803-egee http://me:word@a/b https://x:retake-hidden@a`
  expect(secretsIn('notes.txt', text)).toEqual([])
})
