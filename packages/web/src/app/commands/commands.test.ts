import { expect, test } from 'vitest'
import { keyOf, type KeyPress } from './commands.js'

const press = (key: string, more: Partial<KeyPress> & { third?: boolean } = {}): KeyPress => ({
  key,
  ctrlKey: false,
  metaKey: false,
  shiftKey: false,
  altKey: false,
  getModifierState: (name) => name === 'AltGraph' && more.third === true,
  ...more,
})

test('a character implies whether Shift is pressed', () => {
  expect(keyOf(press('j'), false)).toBe('j')
  expect(keyOf(press('G', { shiftKey: true }), false)).toBe('G')
  expect(keyOf(press('?', { shiftKey: true }), false)).toBe('?')
})

test('named keys say their Shift', () => {
  expect(keyOf(press('F10', { shiftKey: true }), false)).toBe('Shift+F10')
  expect(keyOf(press('Escape'), false)).toBe('Escape')
})

test('Mod is Cmd on a Mac and Ctrl elsewhere, with Caps Lock too', () => {
  expect(keyOf(press('k', { ctrlKey: true }), false)).toBe('Mod+k')
  expect(keyOf(press('K', { ctrlKey: true }), false)).toBe('Mod+k')
  expect(keyOf(press('k', { metaKey: true }), true)).toBe('Mod+k')
})

test('keys of the system are not those of commands', () => {
  expect(keyOf(press('j', { metaKey: true }), false)).toBe('Other+j')
  expect(keyOf(press('k', { ctrlKey: true }), true)).toBe('Other+k')
  expect(keyOf(press('d', { altKey: true }), false)).toBe('Alt+d')
})

test('brackets are brackets where they need AltGr or Option', () => {
  expect(keyOf(press('[', { ctrlKey: true, altKey: true, third: true }), false)).toBe('[')
  expect(keyOf(press(']', { altKey: true }), true)).toBe(']')
})

test('letters of another script count by their key position', () => {
  expect(keyOf(press('о', { code: 'KeyJ' }), false)).toBe('j')
  expect(keyOf(press('л', { code: 'KeyK', ctrlKey: true }), false)).toBe('Mod+k')
  expect(keyOf(press('ö', { code: 'Semicolon' }), false)).toBe('ö')
})
