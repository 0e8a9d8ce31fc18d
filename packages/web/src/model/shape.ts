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

export const text = check('a text', (value) => typeof value === 'string')

export const flag = check('true or false', (value) => typeof value === 'boolean')

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
    if (!isRecord(value)) throw new ShapeError(path, 'an object')
    const read = Object.entries(shapes as Record<string, Shape<unknown>>).map(([name, shape]) => {
      const member = Object.hasOwn(value, name) ? value[name] : undefined
      return [name, shape(member, path === '' ? name : `${path}.${name}`)] as const
    })
    return Object.fromEntries(read.filter(([, member]) => member !== undefined)) as T
  }
