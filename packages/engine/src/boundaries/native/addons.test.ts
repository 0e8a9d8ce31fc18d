import { expect, onTestFinished, test } from 'vitest'
import { declarePureAddons, patchAddons } from './addons.js'

class Counter {
  static readonly limit = 7
  readonly #from: number
  constructor(from = 1) {
    this.#from = from
  }
  get from(): number {
    return this.#from
  }
  next(): number {
    return this.#from + 1
  }
}

/** Loads an add-on with these exports, as a package that is declared as pure. */
function load(exports: object): object {
  const { dlopen } = process
  process.dlopen = (module: object) => void Object.assign(module, { exports })
  declarePureAddons(['acme'])
  const undo = patchAddons()
  onTestFinished(() => {
    undo()
    declarePureAddons([])
    process.dlopen = dlopen
  })
  const module = { exports: {} }
  process.dlopen(module, '/app/node_modules/acme/acme.node')
  return module.exports
}

test('an exported instance keeps the methods and classes that it inherits', () => {
  const shared = Object.assign(new Counter(41), { Counter })
  const copy = (load({ shared }) as { shared: typeof shared }).shared
  expect(copy).not.toBe(shared)
  expect(copy).toBeInstanceOf(Counter)
  expect(copy.next()).toBe(42)
  expect(copy.from).toBe(41)
  expect(new copy.Counter(1).next()).toBe(2)
  expect(copy.Counter.limit).toBe(7)
})

test('exported arrays, bytes and dates are unchanged', () => {
  const formats = ['png', 'webp']
  const magic = Buffer.from('acme')
  const builtAt = new Date(0)
  const bare = Object.assign(Object.create(null) as { size?: number }, { size: 3 })
  expect(load({ formats, magic, builtAt, bare })).toEqual({ formats, magic, builtAt, bare })
})
