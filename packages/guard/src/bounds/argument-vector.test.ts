import { describe, expect, test } from 'vitest'
import { ArgumentVector } from './shell-bounds.js'

const fits = (vector: readonly string[], ...args: string[]): boolean =>
  new ArgumentVector(vector).fits(args)

describe('an argument vector', () => {
  test('without patterns fits itself, in order and number', () => {
    expect(fits(['git', 'status'], 'status')).toBe(true)
    expect(fits(['git', 'status'])).toBe(false)
    expect(fits(['git', 'status'], 'status', '.')).toBe(false)
    expect(fits(['git', 'a', 'b'], 'b', 'a')).toBe(false)
  })

  test('with * matches one argument that is not an option', () => {
    expect(fits(['cat', '*'], 'a b\nc')).toBe(true)
    expect(fits(['cat', '*'], '')).toBe(true)
    expect(fits(['cat', '*'], '-n')).toBe(false)
    expect(fits(['cat', '*'], '--')).toBe(false)
    expect(fits(['cat', '*'])).toBe(false)
  })

  test('fits text for a shell word for word, or any where it is listed as *', () => {
    const fits = (vector: readonly string[], ...args: string[]): boolean =>
      new ArgumentVector(vector).fitsExactly(args, true)
    expect(fits(['sh', '-c', '*'], '-c', 'ls; rm x')).toBe(true)
    expect(fits(['sh', '-c', 'ls *'], '-c', 'ls *')).toBe(true)
    expect(fits(['sh', '-c', 'ls *'], '-c', 'ls a; rm x')).toBe(false)
    expect(fits(['sh', '-c', '**'], '-c', 'ls')).toBe(false)
    expect(fits(['sh', '-**'], '-c', 'ls')).toBe(false)
  })

  test('matches options where it allows them', () => {
    expect(fits(['ls', '-*'], '-la')).toBe(true)
    expect(fits(['ls', '-*'], 'la')).toBe(false)
    expect(fits(['ls', '--sort=*'], '--sort=size')).toBe(true)
    expect(fits(['ls', '--sort=*'], '--sort')).toBe(false)
  })

  test('ends with any number of arguments', () => {
    expect(fits(['ls', '**'])).toBe(true)
    expect(fits(['ls', '**'], 'a', 'b')).toBe(true)
    expect(fits(['ls', '**'], 'a', '-l')).toBe(false)
    expect(fits(['ls', '-**'], 'a', '-l')).toBe(true)
    expect(fits(['ls', 'a', '**'], 'b')).toBe(false)
  })

  test('keeps a pattern inside an argument from climbing', () => {
    expect(fits(['cat', 'src/*'], 'src/a/..b')).toBe(true)
    expect(fits(['cat', 'src/*'], 'src/../../etc/passwd')).toBe(false)
    expect(fits(['cat', '--file=*'], '--file=../x')).toBe(false)
  })

  test('names one program', () => {
    expect(new ArgumentVector([]).mistake).toBe('it names no program')
    expect(new ArgumentVector(['*', '**']).mistake).toBe('its program "*" contains a *')
    expect(new ArgumentVector(['ls', '**', 'x']).mistake).toBe('** is not at the end')
    expect(new ArgumentVector(['ls', '**']).mistake).toBe(undefined)
  })
})
