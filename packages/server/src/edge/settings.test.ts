import { expect, test } from 'vitest'
import { readSettings } from './settings.js'

test('a wrong secret is not repeated in the error', () => {
  const read = () => readSettings({}, { RETAKE_SMTP_URL: 'ftp://ann:confidential@mail.test' })
  expect(read).toThrow('RETAKE_SMTP_URL is not valid')
  expect(read).not.toThrow('confidential')
})

test.each(['', '?sslmode=disable', '?sslmode=require', '?sslmode=verify-full'])(
  'a database may have the address postgres://db.test/retake%s',
  (query) => {
    const url = `postgres://db.test/retake${query}`
    expect(readSettings({}, { DATABASE_URL: url }).databaseUrl?.href).toBe(url)
  },
)

test.each(['prefer', 'allow', 'x'])(
  'sslmode=%s, which may send data without TLS, is refused',
  (mode) => {
    const read = () =>
      readSettings({}, { DATABASE_URL: `postgres://db.test/retake?sslmode=${mode}` })
    expect(read).toThrow('sslmode=require')
  },
)
