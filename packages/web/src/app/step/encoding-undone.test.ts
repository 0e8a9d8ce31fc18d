import { expect, test } from 'vitest'
import { encodingUndone } from './text-parts.js'

const body = { bytes: 2, form: 'json', text: '{}', clipped: false } as const
const empty = { bytes: 0, form: 'empty', text: '', clipped: false } as const
const packed = [['Content-Encoding', 'gzip']] as const

test('says which encoding a body is shown without', () => {
  expect(encodingUndone({ headers: packed, body, undecoded: undefined })).toBe('gzip')
  expect(encodingUndone({ headers: packed, body, undecoded: 'gzip' })).toBeUndefined()
  expect(encodingUndone({ headers: packed, body: empty, undecoded: undefined })).toBeUndefined()
  const plain = [['content-encoding', 'identity']] as const
  expect(encodingUndone({ headers: plain, body, undecoded: undefined })).toBeUndefined()
  expect(encodingUndone({ headers: [], body, undecoded: undefined })).toBeUndefined()
})
