import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const css = readFileSync(new URL('tokens.css', import.meta.url), 'utf8')

/** The colours of one theme, as `tokens.css` declares them. */
function coloursOf(theme: 'light' | 'dark'): Map<string, string> {
  const found = css.matchAll(/--([\w-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\);/g)
  return new Map(
    [...found].map(([, name, light, dark]) => [
      name ?? '',
      (theme === 'light' ? light : dark) ?? '',
    ]),
  )
}

function luminance(hex: string): number {
  const [red, green, blue] = [1, 3, 5].map((at) => {
    const part = Number.parseInt(hex.slice(at, at + 2), 16) / 255
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
  }) as [number, number, number]
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

function contrast(a: string, b: string): number {
  const [dark, light] = [luminance(a), luminance(b)].toSorted((x, y) => x - y) as [number, number]
  return (light + 0.05) / (dark + 0.05)
}

const BACKGROUNDS = ['surface', 'raised', 'sunken', 'accent-soft']
const SOFT = ['danger-soft', 'warning-soft', 'good-soft']
const KINDS = ['model', 'tool', 'http', 'mcp', 'process', 'mark'].map((kind) => `kind-${kind}`)
const ROLES = ['cause', 'back-up', 'echo'].map((role) => `role-${role}`)
const TONES = ['danger', 'warning', 'good']

const pairs: [text: string, background: string, atLeast: number][] = [
  ...['text', 'muted', 'accent', ...TONES, ...KINDS, ...ROLES].flatMap((text) =>
    BACKGROUNDS.map((background): [string, string, number] => [text, background, 4.5]),
  ),
  ...['text', 'muted'].flatMap((text) =>
    SOFT.map((background): [string, string, number] => [text, background, 4.5]),
  ),
  ...TONES.map((tone): [string, string, number] => [tone, `${tone}-soft`, 4.5]),
  ['text', 'mark', 4.5],
  ['on-accent', 'accent', 4.5],
  ...['surface', 'raised', 'sunken'].flatMap((background): [string, string, number][] => [
    ['line-field', background, 3],
    ['accent', background, 3],
  ]),
]

test.each(['light', 'dark'] as const)('all text can be read in the %s theme', (theme) => {
  const colours = coloursOf(theme)
  const measured = pairs.map(([text, background, atLeast]) => {
    const ratio = contrast(colours.get(text) ?? '#', colours.get(background) ?? '#')
    return { pair: `${text} on ${background}`, ratio: Math.round(ratio * 100) / 100, atLeast }
  })
  expect(measured.filter(({ ratio, atLeast }) => !(ratio >= atLeast))).toEqual([])
})

test('every colour of a component is one of the theme', () => {
  const used = [...css.matchAll(/--color-[\w-]+: var\(--([\w-]+)\)/g)].map(([, name]) => name)
  expect(used).toEqual([...coloursOf('light').keys()])
})
