import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const built = (path: string): string =>
  readFileSync(new URL(`../../packages/web/dist/${path}`, import.meta.url), 'utf8')

test('the page includes the licences of its dependencies', () => {
  const notices = built('live/THIRD-PARTY-NOTICES.txt')
  for (const name of ['react', '@base-ui/react', '@codemirror/view', '@tanstack/react-router'])
    expect(notices).toContain(`${name} `)
  expect(notices).toContain('tailwindcss ')
  expect(notices).toContain('Permission is hereby granted')
})

test('a report includes the licences in its script', () => {
  const notices = built('report-page/THIRD-PARTY-NOTICES.txt')
  expect(notices).toContain('react-dom ')
  expect(built('report-page/report.js').startsWith(`/*!\n${notices}*/`)).toBe(true)
})
