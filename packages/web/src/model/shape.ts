import { isRecord } from '@retake/tape'

/** Reads a value of unknown shape, or throws `ShapeError`. Unknown members are ignored. */
export type Shape<T> = (value: unknown, path: string) => T

export class ShapeError extends Error {
  override readonly name = 'ShapeError'

  constructor(
    readonly path: string,
    readonly expected: string,
  ) {
    super(`${path === '' ? 'It' : path} is not ${expected}`)
  }
}

export const check =
  <T>(expected: string, fits: (value: unknown) => value is T): Shape<T> =>
  (value, path) => {
    if (fits(value)) return value
    throw new ShapeError(path, expected)
  }

export const number = check('a number', (value): value is number => Number.isFinite(value))

export const text = check('a text', (value) => typeof value === 'string')

export const flag = check('true or false', (value) => typeof value === 'boolean')

export const recordOf = check('an object', isRecord)

export const oneOf = <T extends string>(allowed: readonly T[]): Shape<T> =>
  check(`one of ${allowed.join(', ')}`, (value): value is T => allowed.includes(value as T))

export const list =
  <T>(item: Shape<T>): Shape<T[]> =>
  (value, path) => {
    if (!Array.isArray(value)) throw new ShapeError(path, 'a list')
    return value.map((each: unknown, index) => item(each, `${path}[${index}]`))
  }

export const optional =
  <T>(shape: Shape<T>): Shape<T | undefined> =>
  (value, path) =>
    value === undefined ? undefined : shape(value, path)

export type Shapes<T> = {
  readonly [K in keyof T]-?: Shape<T[K] | (object extends Pick<T, K> ? undefined : never)>
}

/** Members that are undefined are left out. */
export const object =
  <T extends object>(shapes: Shapes<T>): Shape<T> =>
  (value, path) => {
    const members = recordOf(value, path)
    const read = Object.entries(shapes as Record<string, Shape<unknown>>).map(([name, shape]) => {
      const member = Object.hasOwn(members, name) ? members[name] : undefined
      return [name, shape(member, path === '' ? name : `${path}.${name}`)] as const
    })
    return Object.fromEntries(read.filter(([, member]) => member !== undefined)) as T
  }
