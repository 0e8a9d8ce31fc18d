import { expect, test } from 'vitest'
import { lineAt, maskSources } from './mask-sources.js'

/** Made up at run time, so that no scanner finds a key in this file. */
const letters = 'aB3dE6gH9jK2mN5pQ8sT1vW4xY7zC0fR3uI6oL9e'
const key = `sk-${letters}`
const masked = (files: Readonly<Record<string, string>>) =>
  maskSources(new Map(Object.entries(files).map(([name, text]) => [name, Buffer.from(text)])))

test('secrets in sources are masked with the same length, on their lines', () => {
  const text = `// café\nexport const apiKey = '${key}' // ü\n`
  const { bytes, masked: ranges } = masked({ 'a.mjs': text }).get('a.mjs') ?? {}
  expect(bytes?.toString()).not.toContain(letters)
  expect(bytes?.length).toBe(Buffer.byteLength(text))
  expect(bytes?.toString()).toMatch(/^\/\/ café\nexport const apiKey = '[\w-]+' \/\/ ü\n$/)
  expect(ranges?.map(([start]) => lineAt(bytes ?? Buffer.alloc(0), start))).toEqual([2])
})

test('a secret that only one file shows as such is masked in all of them', () => {
  const secret = letters.slice(0, 24)
  const sources = masked({
    'plain.mjs': `use('${secret}')\n`,
    'named.mjs': `const client_secret = '${secret}'\n`,
  })
  for (const { bytes } of sources.values()) expect(bytes.toString()).not.toContain(secret)
})

test('code, lock files and binary content without secrets stay as they are', () => {
  const files = {
    'agent.mjs': "const password = process.env.PASSWORD ?? ''\nlogin({ token: await read() })\n",
    'package-lock.json': JSON.stringify({
      packages: { a: { integrity: `sha512-${Buffer.alloc(64, letters).toString('base64')}` } },
    }),
    'data.bin': '\0\u0001\u0002',
  }
  for (const [name, { bytes, masked: ranges }] of masked(files)) {
    expect(bytes.toString()).toBe(files[name as keyof typeof files])
    expect(ranges).toEqual([])
  }
})
