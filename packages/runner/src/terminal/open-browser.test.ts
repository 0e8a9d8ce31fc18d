import { describe, expect, test } from 'vitest'
import { hasScreen, openerOf } from './open-browser.js'

describe('a browser is opened', () => {
  const desktop = { DISPLAY: ':0' }

  test('where somebody sits at a screen', () => {
    expect(hasScreen(desktop, true)).toBe(true)
    expect(hasScreen({ ...desktop, CI: '', CLAUDECODE: '0', SSH_TTY: '' }, true)).toBe(true)
  })

  test('neither in CI nor for an agent, over SSH, or without a terminal', () => {
    expect(hasScreen(desktop, false)).toBe(false)
    for (const name of [
      'CI',
      'CLAUDECODE',
      'CURSOR_AGENT',
      'AI_AGENT',
      'SSH_CONNECTION',
      'SSH_TTY',
    ])
      expect(hasScreen({ ...desktop, [name]: '1' }, true), name).toBe(false)
  })

  test('with the program of the platform, and an address that no shell reads', () => {
    const url = 'http://127.0.0.1:4600/runs/x?step=2&token=abc'
    expect(openerOf('darwin', url)).toEqual(['open', url])
    expect(openerOf('linux', url)).toEqual(['xdg-open', url])
    expect(openerOf('win32', url)).toEqual(['cmd', '/c', 'start', '""', `"${url}"`])
  })
})
